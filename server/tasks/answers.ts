import { addAnswer } from '../runs/answers.js'
import type { TaskAnswer, TaskRecord } from '../engine/task-store.js'

/** The record with these questions answered, by their ids. */
export function withAnswers(
  { asked, answers }: TaskRecord,
  given: ReadonlyMap<string, TaskAnswer>,
): Pick<TaskRecord, 'asked' | 'answers'> {
  const all = new Map(answers)
  for (const { id, key } of asked) {
    const answer = given.get(id)
    if (answer !== undefined) addAnswer(all, key, answer)
  }
  return { asked: asked.filter(({ id }) => !given.has(id)), answers: [...all] }
}

/** The id of the next question under a key: the key itself the first time. No other question has it. */
export function questionId({ asked, answers }: TaskRecord, key: string): string {
  const before = (new Map(answers).get(key)?.length ?? 0) + asked.filter((open) => open.key === key).length
  return before === 0 && !key.includes('#') ? key : `${key}#${before + 1}`
}

import { McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { readResult } from '../../protocol/messages/params.js'
import type { TaskAnswer, TaskQuestion, TaskRecord } from '../engine/task-store.js'

/**
 * What a client has said to open questions, by their ids. Answers to anything else are ignored (extension for
 * tasks, `tasks/update`). Throws McpError -32602 for an answer of the wrong shape: then none counts.
 */
export function readAnswers(
  asked: readonly TaskQuestion[],
  responses: JsonObject,
): ReadonlyMap<TaskQuestion, TaskAnswer> {
  const answers = new Map<TaskQuestion, TaskAnswer>()
  for (const question of asked) {
    if (!Object.hasOwn(responses, question.id)) continue
    const { method } = question
    answers.set(question, { method, result: readAnswer(question, responses[question.id]) })
  }
  return answers
}

function readAnswer({ id, method }: TaskQuestion, response: unknown): JsonObject {
  if (!isObject(response)) throw badAnswer(id, `${method}: expected an object`)
  try {
    return readResult(method, response) as object as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw badAnswer(id, cause.message)
  }
}

function badAnswer(id: string, problem: string): McpError {
  return McpError.invalidParams(`inputResponses[${JSON.stringify(id.slice(0, 100))}]: ${problem}`)
}

/** The record with these questions answered. */
export function withAnswers(
  { asked, answers }: TaskRecord,
  given: ReadonlyMap<TaskQuestion, TaskAnswer>,
): Pick<TaskRecord, 'asked' | 'answers'> {
  const all = new Map(answers)
  for (const [{ key }, answer] of given) all.set(key, [...(all.get(key) ?? []), answer])
  return { asked: asked.filter((question) => !given.has(question)), answers: [...all] }
}

/** The id of the next question under a key: the key itself the first time. No other question has it. */
export function questionId({ asked, answers }: TaskRecord, key: string): string {
  const before = (new Map(answers).get(key)?.length ?? 0) + asked.filter((open) => open.key === key).length
  return before === 0 && !key.includes('#') ? key : `${key}#${before + 1}`
}

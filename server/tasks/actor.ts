import type { Question } from '../../protocol/dialects/capabilities.js'
import { McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { type Deferred, defineActor, type Refusal, refuse } from '../../runtime/process/behaviour.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import { AskError, type AskErrorCode, ServerError } from '../base/errors.js'
import type { RequestScope } from '../context/context.js'
import type { TaskCommand } from '../engine/shared-task-store.js'
import type { TaskAnswer, TaskEnd, TaskRecord } from '../engine/task-store.js'
import { readAnswers } from '../runs/answers.js'
import { questionId, withAnswers } from './answers.js'
import {
  askTaskStore,
  type McpTask,
  type McpTaskInput,
  openTask,
  saveTask,
  taskError,
  tellLeft,
  tellWatchers,
  watch,
} from './mcp-task.js'
import { endOf, startRun } from './run.js'
import type { McpTaskSeat } from './task-seat.js'

interface QuestionInput {
  readonly run: McpTaskSeat
  readonly key: string
  readonly method: Question
  /** As the client's revision has them. */
  readonly params: JsonObject
  /** Milliseconds; undefined: as long as the task is kept. */
  readonly timeout: number | undefined
}

/** Open questions of one task. */
const maxOpen = 100
/** How often a handler may begin without getting ahead: it may be what kills its program. */
const maxBegun = 3
/** Milliseconds until an end that could not be saved is saved again. */
const saveAgain = 1_000

/**
 * One task (specification: tasks), as long as it is at work. It saves every step, question, answer and its end
 * before it tells anybody; its handler is a process of its own.
 */
export const mcpTaskActor = defineActor({
  name: 'mcp-task',
  trapExit: true,
  stray: 'report',
  mailboxLimit: 10_000,
  init: (input: McpTaskInput, ctx: ActorContext): McpTask => openTask(input, ctx),
  call: {
    /** Saves it, and begins its handler; one that was at work before goes on. Rejects if it is not saved. */
    begin: (task, isNew: boolean, ctx) => begin(task, isNew, ctx),
    get: ({ record }): TaskRecord => record,
    watch: (task, watching: { readonly scope: RequestScope; readonly known: readonly string[] }, ctx) =>
      watch(task, watching, ctx),
    ask: (task, asking: QuestionInput, ctx) => ask(task, asking, ctx),
    step: (task, { run, key, text }: { run: McpTaskSeat; key: string; text: string | null }) =>
      orRefuse(async () => {
        if (task.run !== run || task.ending !== undefined) throw over()
        await saveTask(task, { steps: [...task.record.steps, [key, text]], begun: 1 })
      }),
    /** The answers of its client; -32602 for a malformed one. */
    answer: (task, responses: JsonObject) =>
      orRefuse(() => takeAnswers(task, readAnswers(openQuestions(task), responses))),
    /** A question cannot be answered. */
    refuse: (task, { id, code, message }: { id: string; code: AskErrorCode; message: string }) =>
      refuseQuestion(task, id, { code, message }),
    /** The server is stopping: no step begins any more, and those that run end first. */
    rest({ run }, _nothing: undefined, ctx): Deferred<undefined> | undefined {
      const settling = run?.steps.rest()
      if (settling === undefined) return undefined
      const reply = ctx.defer<undefined>()
      void settling.then(() => reply.resolve(undefined))
      return reply
    },
    /** The record, which is at its end then. */
    cancel: (task, _nothing: undefined, ctx) => cancel(task, ctx),
  },
  cast: {
    /** The server is stopping: ends the wait for a task that continues later. */
    release: (task) => tellLeft(task, { type: 'left' }),
    /** The status message of its handler: in answers from now on, and stored with the next change. */
    progress(task, statusMessage: string) {
      if (task.record.end !== undefined) return
      task.record = Object.freeze({ ...task.record, statusMessage, updatedAt: task.world.date() })
    },
    /** Another node has taken it over: here it has no effect any more. */
    lost(task, _nothing: undefined, ctx) {
      task.run?.cancel()
      task.ending ??= { type: 'cancelled' }
      tellLeft(task, { type: 'moved' })
      ctx.stop()
    },
    /** Its time is over. */
    async expire(task, _nothing: undefined, ctx) {
      task.run?.cancel()
      task.ending ??= { type: 'cancelled' }
      tellLeft(task, { type: 'gone' })
      await askTaskStore(task.world, () => task.host.store.delete(task.record.id)).catch(() => {})
      ctx.stop()
    },
  },
  info: {
    async exit(task, { from }, ctx) {
      const { run } = task
      if (from === null || from !== run?.task.self) return
      const end = endOf(await run.answer)
      if (end !== undefined) await finish(task, end, ctx)
    },
    down(task, { process }) {
      task.watchers.delete(process)
      tellWatchers(task)
    },
    timer(task, what: { readonly late: string } | 'save', ctx) {
      if (what === 'save') return save(task, ctx)
      const message = 'no answer of the client within the time of the question'
      return refuseQuestion(task, what.late, { code: 'ASK_TIMEOUT', message })
    },
  },
})

export type McpTaskRef = RefOf<typeof mcpTaskActor>

/** Has a task do what its client wants. Rejects as the task does, and with RuntimeError when it has ended. */
export async function runOn(task: McpTaskRef, command: TaskCommand): Promise<void> {
  if (command.do === 'cancel') await task.call('cancel', undefined, forever)
  else if (command.do === 'answer') await task.call('answer', command.responses, forever)
  else await task.call('refuse', command.question, forever)
}

async function begin(task: McpTask, isNew: boolean, ctx: ActorContext): Promise<Refusal | undefined> {
  const { record, host } = task
  if (isNew) {
    const refused = await orRefuse(() => saveTask(task))
    if (refused !== undefined) return refused
  } else {
    const tool = host.holdings.catalog.tools.get(String(record.params.name))
    if (tool?.taskRestart === 'fail')
      return finish(task, taskError('The task was interrupted, and is not to run twice'), ctx)
    if (record.begun >= maxBegun) {
      const problem = `The task was interrupted ${maxBegun} times, and never got ahead`
      return finish(task, taskError(problem), ctx)
    }
    const refused = await orRefuse(() => saveTask(task, { begun: record.begun + 1 }))
    if (refused !== undefined) return refused
  }
  ctx.continue(() => {
    const end = task.ending === undefined ? startRun(task) : undefined
    return end === undefined ? undefined : finish(task, end, ctx)
  })
  return undefined
}

/** Ends it for good: the first end counts. */
function finish(task: McpTask, end: TaskEnd, ctx: ActorContext): Promise<undefined> | undefined {
  if (task.ending !== undefined) return undefined
  task.ending = end
  task.run?.cancel()
  return save(task, ctx)
}

/** Saves the end, as often as it takes, and tells it. */
async function save(task: McpTask, ctx: ActorContext): Promise<undefined> {
  const { ending: end, host, record } = task
  if (end === undefined) return
  // what it was made of is of no use any more
  const done = { asked: [], steps: [], answers: [], params: { name: record.params.name }, statusMessage: '' }
  try {
    await saveTask(task, { ...done, end })
  } catch (error) {
    const isTooLarge = error instanceof ServerError && error.code === 'BAD_STATE'
    if (isTooLarge && end.type !== 'cancelled') task.ending = taskError('The outcome is too large to be kept')
    if (isTooLarge && end.type === 'result') return save(task, ctx)
    ctx.sendAfter(saveAgain, 'save')
    return
  }
  host.ledger.cast('ended', record.id)
  tellWatchers(task)
  ctx.stop()
}

async function cancel(task: McpTask, ctx: ActorContext): Promise<TaskRecord | Refusal> {
  if (task.ending === undefined) await finish(task, { type: 'cancelled' }, ctx)
  // it may have ended in another way before, which is not saved yet
  const isSaved = task.record.end !== undefined
  return isSaved ? task.record : refuse(McpError.internal('the task cannot be saved: try again later'))
}

async function ask(
  task: McpTask,
  { run, key, method, params, timeout }: QuestionInput,
  ctx: ActorContext,
): Promise<Deferred<JsonObject>> {
  const reply = ctx.defer<JsonObject>()
  if (task.run !== run || task.ending !== undefined) return rejected(reply, over())
  const { asked, answers } = task.record
  const known = new Map(answers).get(key) ?? []
  const place = run.taken.get(key) ?? 0
  run.taken.set(key, place + 1)
  const before = known[place]
  if (before !== undefined) {
    settle(reply, before, method)
    return reply
  }
  // asked before its program died
  const open = asked.filter((question) => question.key === key)[place - known.length]
  if (open === undefined && asked.length >= maxOpen)
    return rejected(reply, new AskError('TOO_MANY_QUESTIONS', `a task may have ${maxOpen} questions open`))
  const question = open ?? { id: questionId(task.record, key), key, method, params }
  if (open === undefined) {
    try {
      await saveTask(task, { asked: [...asked, question] })
    } catch (error) {
      run.taken.set(key, place)
      return rejected(reply, error)
    }
  }
  const timer = timeout === undefined ? undefined : ctx.sendAfter(timeout, { late: question.id })
  run.waiting.set(question.id, { reply, timer })
  run.startClock()
  tellWatchers(task)
  return reply
}

async function refuseQuestion(
  task: McpTask,
  id: string,
  refused: { readonly code: AskErrorCode; readonly message: string },
): Promise<undefined> {
  const question = task.record.asked.find((open) => open.id === id)
  if (question === undefined) return
  const { method } = question
  await takeAnswers(task, new Map([[id, { method, refused }]])).catch(() => {}) // it stays open
}

function openQuestions({ record }: McpTask): ReadonlyMap<string, Question> {
  return new Map(record.asked.map(({ id, method }) => [id, method]))
}

/** Takes answers to open questions, by their ids. */
async function takeAnswers(task: McpTask, given: ReadonlyMap<string, TaskAnswer>): Promise<void> {
  if (given.size === 0 || task.ending !== undefined) return
  await saveTask(task, { ...withAnswers(task.record, given), begun: 1 })
  const { run } = task
  for (const [id, answer] of given) {
    const waiting = run?.waiting.get(id)
    run?.waiting.delete(id)
    waiting?.timer?.cancel()
    if (waiting !== undefined) settle(waiting.reply, answer, answer.method)
  }
  run?.startClock()
}

function settle(reply: Deferred<JsonObject>, answer: TaskAnswer, method: Question): void {
  if (answer.method !== method)
    reply.reject(new AskError('BAD_ANSWER', `${method}: the client was asked something else here before`))
  else if ('result' in answer) reply.resolve(structuredClone(answer.result))
  else reply.reject(new AskError(answer.refused.code, answer.refused.message))
}

function rejected<T>(reply: Deferred<T>, error: unknown): Deferred<T> {
  reply.reject(error)
  return reply
}

function over(): AskError {
  return new AskError('CLIENT_GONE', 'the task has ended')
}

/** Errors of the store, and bad input, are the caller's: the task goes on. */
async function orRefuse(work: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return refuse(error instanceof Error ? error : new Error(messageOf(error)))
  }
}

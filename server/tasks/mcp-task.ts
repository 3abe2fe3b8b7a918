import { errorCodes, type JsonRpcError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { dialectOf } from '../../protocol/dialects/versions.js'
import { buildNotification, type JsonRpcNotification } from '../../protocol/wire/jsonrpc.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Peer } from '../../transports/contract/contract.js'
import { ServerError } from '../base/errors.js'
import { originOf, type RequestOrigin } from '../base/events.js'
import type { RequestScope } from '../context/context.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { TaskSettings } from '../holdings/task-options.js'
import type { TaskEnd, TaskQuestion, TaskRecord, TaskStore } from '../engine/task-store.js'
import type { ledgerActor } from './ledger.js'
import { isNews, statusOf, toTask } from './views.js'
import type { McpTaskSeat } from './task-seat.js'

/** What all tasks of a server share. */
export interface TaskHost {
  readonly holdings: Holdings
  readonly settings: TaskSettings
  readonly store: TaskStore
  /** Runs the handlers. */
  readonly runs: TaskSupervisor
  readonly ledger: RefOf<typeof ledgerActor>
  /** Tells the streams of `subscriptions/listen` of a change. */
  readonly tell: (record: TaskRecord) => void
}

/** Says something to the client of a session, if it is there and listens. */
export type Tell = (message: JsonRpcNotification) => void

export interface McpTaskInput {
  readonly host: TaskHost
  readonly record: TaskRecord
  /** Of the request that became the task; a task that goes on later has what its record says. */
  readonly peer: Peer | undefined
  /** To the session of that request, of its changes (2025-11-25). */
  readonly tell?: Tell | undefined
}

/** What a request that waits for a task (`tasks/result`) learns. */
export type TaskNews =
  | { readonly type: 'asked'; readonly questions: readonly TaskQuestion[] }
  | { readonly type: 'ended'; readonly record: TaskRecord }
  /** Its time is over, and it is deleted. */
  | { readonly type: 'gone' }
  /** The server is stopping, and the task goes on when it starts again. */
  | { readonly type: 'left' }
  /** Another node has taken the task over: look it up again. */
  | { readonly type: 'moved' }

/** A request that waits for the end of a task (`tasks/result`): the newest one gets the questions. */
interface ResultWaiter {
  /** The request, for what comes before the end. */
  readonly scope: RequestScope
  waits: { readonly known: readonly string[]; readonly reply: Deferred<TaskNews> } | undefined
}

/** The state of the actor of one task that is at work. */
export interface McpTask extends McpTaskInput {
  /** The stored record: answers tell nothing that is not stored. */
  record: TaskRecord
  readonly self: ProcessRef
  readonly origin: RequestOrigin
  readonly world: World
  readonly watchers: Map<ProcessRef, ResultWaiter>
  run: McpTaskSeat | undefined
  /** How it ends: the first counts. Set until it is saved. */
  ending: TaskEnd | undefined
  [describe](): string
}

/** Milliseconds that a store has for an answer. */
const storeTime = 5_000

export function openTask(input: McpTaskInput, ctx: ActorContext): McpTask {
  const task: McpTask = {
    ...input,
    self: ctx.self,
    origin: originOf(ctx.self, input.host.holdings.settings.name),
    world: ctx.world,
    watchers: new Map(),
    run: undefined,
    ending: undefined,
    [describe]: () => `${task.record.params.name}, ${task.record.asked.length} questions`,
  }
  return task
}

/** Saves a change of a task; only then it counts. Rejects with what the store throws, and beyond a limit. */
export async function saveTask(task: McpTask, change: Partial<TaskRecord> = {}): Promise<void> {
  const { host, world } = task
  const { id, version } = task.record
  const record = { ...task.record, ...change, version: version + 1, updatedAt: world.date() }
  const bytes = sizeOf(record)
  const { maxBytes } = host.settings
  if (bytes > maxBytes) throw tooLarge(`a task may have ${maxBytes} bytes (tasks.maxBytes), and has ${bytes}`)
  if (!(await host.ledger.call('weigh', { id, bytes })))
    throw tooLarge(`all tasks have ${host.settings.maxTotalBytes} bytes already (tasks.maxTotalBytes)`)
  await askTaskStore(world, () => host.store.save(record), host.holdings.settings.cluster?.tasks?.saveTimeout)
  const before = task.record
  task.record = Object.freeze(record)
  if (!isNews(before, record)) return
  host.tell(task.record)
  tellStatus(task, before)
}

/** `notifications/tasks/status`: never to be relied on (2025-11-25, tasks). */
function tellStatus({ record, host, tell }: McpTask, before: TaskRecord): void {
  const dialect = dialectOf(record.revision)
  if (tell === undefined || dialect === undefined) return
  if (statusOf(before, dialect) === statusOf(record, dialect)) return
  const params = toTask(record, dialect, host.settings.pollInterval)
  tell(buildNotification('notifications/tasks/status', { ...params }))
}

/** Asks a store: it may be an author's, and throw, or never answer. */
export async function askTaskStore<Answer>(
  world: World,
  ask: () => Answer | Promise<Answer>,
  timeout = 0,
): Promise<Answer> {
  const asking = ask()
  if (!isPromise(asking)) return asking
  const ms = timeout + storeTime
  const late = (): never => {
    throw new RuntimeError('TIMEOUT', `the store of tasks took longer than ${ms} ms`, { retryable: true })
  }
  return waitWithin<Answer>({ clock: world, ms, late }, (resolve, reject) => {
    asking.then(resolve, reject)
    return undefined
  })
}

/** Tells the requests that wait: the newest one the questions, all of them the end. */
export function tellWatchers(task: McpTask): void {
  const newest = [...task.watchers.keys()].at(-1)
  for (const [ref, watcher] of task.watchers) {
    if (watcher.waits === undefined) continue
    const news = newsFor(task, watcher.waits.known, ref === newest)
    if (news === undefined) continue
    const { reply } = watcher.waits
    watcher.waits = undefined
    reply.resolve(news)
  }
}

/** Has a request wait for what it does not know yet. */
export function watch(
  task: McpTask,
  { scope, known }: { readonly scope: RequestScope; readonly known: readonly string[] },
  ctx: ActorContext,
): Deferred<TaskNews> {
  const reply = ctx.defer<TaskNews>()
  const ref = scope.task.self
  if (!task.watchers.has(ref)) ctx.monitor(ref)
  const watcher = task.watchers.get(ref) ?? { scope, waits: undefined }
  watcher.waits = { known, reply }
  task.watchers.set(ref, watcher)
  tellWatchers(task)
  return reply
}

/** Sends away all who wait. */
export function tellLeft(task: McpTask, news: TaskNews): void {
  for (const { waits } of task.watchers.values()) waits?.reply.resolve(news)
  task.watchers.clear()
}

/** The request that the client would hear of the task through: the newest that waits for its end. */
export function channelOf(task: McpTask): RequestScope | undefined {
  return [...task.watchers.values()].at(-1)?.scope
}

function newsFor({ record }: McpTask, known: readonly string[], isNewest: boolean): TaskNews | undefined {
  if (record.end !== undefined) return { type: 'ended', record }
  const questions = isNewest ? record.asked.filter(({ id }) => !known.includes(id)) : []
  return questions.length > 0 ? { type: 'asked', questions } : undefined
}

/** What a task is told that ended without its own doing. */
export function taskError(message: string, data?: JsonObject): TaskEnd {
  const error: JsonRpcError = { code: errorCodes.internalError, message, ...(data !== undefined && { data }) }
  return { type: 'error', error }
}

export function sizeOf(record: TaskRecord): number {
  return Buffer.byteLength(JSON.stringify(record))
}

function tooLarge(problem: string): ServerError {
  return new ServerError('BAD_STATE', problem)
}

import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf, modernDialectOf } from '../../protocol/dialects/versions.js'
import { McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef } from '../../runtime/tasks/supervisor.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import { answer, type InProgress, refusal, responseAfter } from '../requests/answer.js'
import { route } from '../requests/router.js'
import type { Work } from '../requests/work.js'
import { digestOf, workFacts } from '../base/work-facts.js'
import { ToolContext } from '../context/context.js'
import type { Steps } from '../context/steps.js'
import type { TaskEnd, TaskRecord } from '../engine/task-store.js'
import type { McpTask } from './mcp-task.js'
import { McpTaskScope } from './task-scope.js'

/** One run of the handler of a task. */
export interface TaskRun extends InProgress {
  readonly dialect: Dialect
  readonly peer: Peer
  readonly timeout: number
  deadline: number
  task: TaskRef<void> | undefined
  /** What `ctx.once` has done and does; undefined until the handler begins. */
  steps: Steps | undefined
  /** How many answers of each key this run has been given. */
  readonly taken: Map<string, number>
  /** Those that wait for an answer, by the id of the question. */
  readonly waiting: Map<
    string,
    { readonly reply: Deferred<JsonObject>; readonly timer: TimerRef | undefined }
  >
  /** Ends the run when its time is up; undefined while it waits for its client. */
  timer: unknown
}

/** Begins the handler, or answers how the task ends for which there is none any more. */
export function startRun(task: McpTask): TaskEnd | undefined {
  const { record, host } = task
  const request: JsonRpcRequest = {
    jsonrpc: '2.0',
    id: record.id,
    method: 'tools/call',
    params: record.params,
  }
  const dialect = dialectOf(record.revision) ?? modernDialectOf(record.revision)
  if (dialect === undefined)
    return endOf(refusal(record.id, McpError.internal('the revision is not spoken here')))
  const peer = task.peer ?? peerOf(record)
  let work: Work
  try {
    const { capabilities } = record
    const planned = route(request, { dialect, catalog: host.holdings.catalog, peer, capabilities })
    if (!('run' in planned)) return endOf(refusal(record.id, McpError.internal('nothing to do')))
    work = planned
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    return endOf(refusal(record.id, error, dialect))
  }
  const run: TaskRun = {
    request,
    work,
    dialect,
    peer,
    timeout: work.timeout ?? Number.POSITIVE_INFINITY,
    deadline: Number.POSITIVE_INFINITY,
    cancelled: false,
    response: undefined,
    task: undefined,
    steps: undefined,
    taken: new Map(),
    waiting: new Map(),
    timer: undefined,
  }
  task.run = run
  // its id is as good as the task
  const about = (): WorkFacts => workFacts({ ...request, id: `task ${digestOf(record.id)}` }, peer)
  const how = { name: work.name, link: task.self, serves: request, about }
  run.task = host.runs.start((ctx) => perform(task, run, ctx), how)
  runClock(task)
  return undefined
}

/** Starts the time of the run, or stops it: it stands still while the client is asked. */
export function runClock({ run, record, world }: McpTask): void {
  if (run === undefined || !Number.isFinite(run.timeout)) return
  const isAsking = record.asked.length > 0
  if (isAsking === (run.timer === undefined)) return
  if (isAsking) {
    world.clearTimeout(run.timer)
    run.timer = undefined
    run.deadline = Number.POSITIVE_INFINITY
  } else {
    run.deadline = world.now() + run.timeout
    run.timer = world.setTimeout(() => run.task?.ref.kill(), run.timeout)
  }
}

/** Aborts the handler: what it still does has no effect. */
export function stopRun({ run, world }: McpTask): void {
  if (run === undefined) return
  run.cancelled = true
  if (run.timer !== undefined) world.clearTimeout(run.timer)
  for (const { timer } of run.waiting.values()) timer?.cancel()
  run.task?.cancel()
}

/** How the task ends whose handler has ended; undefined: it goes on elsewhere, or was stopped. */
export function endAfter({ run, host, world }: McpTask, reason: ExitReason): TaskEnd | undefined {
  if (run?.task === undefined || run.cancelled) return undefined
  // all handlers are being stopped, and so is this task: it will go on
  if (run.response === undefined && !host.runs.ref.alive) return undefined
  const { exposeErrors } = host.holdings.settings
  const response = responseAfter(run, run.task.ref, reason, { exposeErrors, now: world.now() })
  return response === undefined ? undefined : endOf(response)
}

function endOf(response: Response): TaskEnd {
  if ('error' in response) return { type: 'error', error: response.error }
  // plain JSON: what it was made of may belong to the author
  return { type: 'result', result: JSON.parse(JSON.stringify(response.result)) as JsonObject }
}

function perform(task: McpTask, run: TaskRun, ctx: TaskContext): void | Promise<void> {
  const response = answer(run, run.dialect, new ToolContext(new McpTaskScope(task, run, ctx)), task.origin)
  if (isPromise(response)) return conclude(run, response)
  run.response = response
}

async function conclude(run: TaskRun, response: PromiseLike<Response>): Promise<void> {
  run.response = await response
}

/** What is known of the caller after the death of the program. */
function peerOf({ transport, trusted, principal }: TaskRecord): Peer {
  return {
    transport,
    headers: {},
    remoteAddress: undefined,
    ...(trusted !== undefined && { trusted }),
    ...(principal !== undefined && { principal }),
  }
}

import { errorCodes } from '../../protocol/wire/errors.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import type { Deferred, Exit } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskRef } from '../../runtime/tasks/supervisor.js'
import type { Response } from '../../transports/contract/contract.js'
import { answer, type InProgress, responseAfter, tryAgain } from '../requests/answer.js'
import { busy } from '../base/errors.js'
import { noteAnswer, noteRequest } from '../base/events.js'
import { impersonalFacts, workFacts } from '../base/work-facts.js'
import { ToolContext } from '../context/context.js'
import type { RequestDelivery } from '../requests/scope.js'
import { saveSeen, saveSession } from './saving.js'
import type { Session } from './session.js'
import { type SessionRun, SessionScope } from './session-scope.js'
import type { Work } from '../requests/work.js'

export interface SessionRequest extends InProgress, SessionRun {
  readonly work: Work
  readonly reply: Deferred<Response | undefined>
  /** When its time is up; infinite as long as it waits for its turn. */
  deadline: number
  readonly arrivedAt: number
  task: TaskRef<void> | undefined
  cancelled: boolean
  /** Whether the session is saved also without a change, so that the store sees that it is in use. */
  readonly renews: boolean
}

/** Begins a request, or queues it: `maxRequests` of a session are at work, the others wait in order. */
export function startWork(
  session: Session,
  work: Work,
  delivery: RequestDelivery,
  ctx: ActorContext,
): Deferred<Response | undefined> {
  const { maxRequests, maxWaiting, requestTimeout, idleTimeout } = session.holdings.settings
  const { request: message, outlet, peer } = delivery
  const { timeout = requestTimeout } = work
  const request: SessionRequest = {
    request: message,
    work,
    outlet,
    peer,
    reply: ctx.defer<Response | undefined>(),
    timeout,
    deadline: Number.POSITIVE_INFINITY,
    arrivedAt: session.lastActive,
    task: undefined,
    saw: 0,
    renews: session.lastActive - session.lastSaved > idleTimeout / 10,
    cancelled: false,
    response: undefined,
  }
  if (session.cancelledEarly.take(message.id, session.now())) return settle(session, request, undefined)
  const isFull = work.waits === true ? session.idle >= maxWaiting : isBusy(session)
  const waits = work.waits !== true && isFull
  if (isFull && !(waits && session.waiting.add(request, message)))
    return settle(session, request, busy(message.id, { maxRequests, maxWaiting }))
  outlet.negotiated?.(session.facts.revision)
  if (work.change !== undefined) {
    work.change(session.wishes)
    session.changes += 1
    request.saw = session.changes
    session.readers.prune((uri) => session.wishes.isSubscribed(uri))
  }
  session.requests.set(message.id, request)
  if (!waits) begin(session, request)
  return request.reply
}

/** Runs a request as a task that shares the session's fate; its time runs from here on. */
function begin(session: Session, request: SessionRequest): void {
  const { work, timeout } = request
  request.deadline = session.now() + timeout
  try {
    const about = (): WorkFacts => workFacts(request.request, request.peer, session.facts.id)
    const how = { name: work.name, link: session.self, timeout, serves: request.request, about }
    request.task = session.tasks.start((task) => perform(session, request, task), how)
    session.byTask.set(request.task.ref, request)
    if (work.waits === true) session.idle += 1
  } catch (error) {
    if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
    // the group is being restarted
    settle(session, request, tryAgain(request.request.id, 'The server is starting again'))
  }
}

function perform(session: Session, request: SessionRequest, task: TaskContext): void | Promise<void> {
  const ctx = new ToolContext(new SessionScope(session, request, task))
  const response = answer(request, session.dialect, ctx, session.origin)
  if (request.saw > session.saved || request.renews || isPromise(response))
    return conclude(session, request, response)
  request.response = response
}

/**
 * Saves what the answer may tell of before it goes out, also a change of another request: nothing is lost
 * that a client knows of.
 */
async function conclude(
  session: Session,
  request: SessionRequest,
  answering: Response | Promise<Response>,
): Promise<void> {
  const response = await answering
  request.isAnswered = true
  const wasSaved = await saveSeen(session, request.saw).catch((error) => {
    if (!isAway(error)) throw error
  })
  if (wasSaved === undefined) {
    request.response = tryAgain(request.request.id, 'The change could not be saved yet')
    return
  }
  // without a change nothing is lost: the next time is soon enough
  if (!wasSaved && request.renews) await saveSession(session).catch(() => {})
  request.response = response
}

/** The engine of the cluster is: who sees the change later is answered once it is saved. */
function isAway(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'CLUSTER_UNAVAILABLE'
}

export function taskEnded(session: Session, { from, reason }: Exit): void {
  const request = from === null ? undefined : session.byTask.get(from)
  if (from === null || request === undefined) return
  session.byTask.delete(from)
  if (request.work.waits === true) session.idle -= 1
  session.questions.drop(request.request.id)
  session.lastActive = session.now()
  const { exposeErrors } = session.holdings.settings
  const how = { exposeErrors, now: session.lastActive }
  settle(session, request, responseAfter(request, from, reason, how))
  while (session.waiting.size > 0 && !isBusy(session)) {
    const next = session.waiting.take()
    if (next !== undefined) begin(session, next)
  }
}

/** Whether as many requests are at work as may be. */
function isBusy({ byTask, idle, holdings }: Session): boolean {
  return byTask.size - idle >= holdings.settings.maxRequests
}

/** Cancels a request in flight, or one to come, by its id as it was given: `1` and `"1"` are two. */
export function cancelWork(session: Session, id: unknown): void {
  const request = session.requests.get(id as RequestId)
  if (request === undefined) return session.cancelledEarly.add(id, session.now())
  request.cancelled = true
  if (session.waiting.delete(request)) settle(session, request, undefined)
  else request.task?.cancel()
}

export function endWork(session: Session): void {
  session.waiting.clear()
  for (const { request, peer, arrivedAt } of session.requests.values())
    noteRequest(session, request, () => ({
      type: 'error',
      duration: session.now() - arrivedAt,
      code: errorCodes.internalError,
      about: impersonalFacts(request, peer, session.facts.id),
    }))
}

function settle(
  session: Session,
  request: SessionRequest,
  response: Response | undefined,
): Deferred<Response | undefined> {
  session.requests.delete(request.request.id)
  answered(session, request, response, request.arrivedAt)
  request.reply.resolve(response)
  return request.reply
}

/** Notes that a request is answered, tells subscribers how it came out, and passes its answer on. */
export function answered<Answer extends Response | undefined>(
  session: Session,
  { request, peer }: Pick<RequestDelivery, 'request' | 'peer'>,
  response: Answer,
  started = session.lastActive,
): Answer {
  session.cancelledEarly.noteAnswered(request.id)
  noteAnswer(session, request, response, {
    duration: () => session.now() - started,
    hasTool: (name) => session.holdings.catalog.has('tool', name),
    about: () => impersonalFacts(request, peer, session.facts.id),
  })
  return response
}

import { errorCodes } from '../../protocol/wire/errors.js'
import type { JsonRpcRequest, RequestId } from '../../protocol/wire/jsonrpc.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import type { Deferred, Exit } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import type { Outlet, Peer, Response } from '../../transports/contract/contract.js'
import { responseAfter } from '../requests/answer.js'
import { busy } from '../base/errors.js'
import type { Session } from './session.js'
import { noteRequest } from '../base/events.js'
import { answered } from './session-events.js'
import { type SessionRequest, startRequest } from './session-request.js'
import type { SessionWishes } from '../requests/session-wishes.js'
import type { Work } from '../requests/work.js'

/** A request that an author's code is to answer, and where what comes before its answer goes. */
export interface RequestDelivery {
  readonly message: JsonRpcRequest
  readonly outlet: Outlet
  readonly peer: Peer
}

/**
 * Has a request worked on, at once or when it is its turn: `maxRequests` are at work in a session, the others
 * wait in the order in which they came.
 */
export function startWork(
  session: Session,
  work: Work,
  { message, outlet, peer }: RequestDelivery,
  ctx: ActorContext,
): Deferred<Response | undefined> {
  const { maxRequests, maxWaiting, requestTimeout, idleTimeout } = session.holdings.settings
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
    unsaved: work.change !== undefined,
    renews: session.lastActive - session.lastSaved > idleTimeout / 10,
    cancelled: false,
    response: undefined,
  }
  if (session.cancelledEarly.take(message.id, session.now())) {
    settle(session, request, undefined)
    return request.reply
  }
  const waits = session.byTask.size >= maxRequests
  if (waits && !session.waiting.add(request, message)) {
    settle(session, request, busy(message.id, { maxRequests, maxWaiting }))
    return request.reply
  }
  outlet.negotiated?.(session.facts.revision)
  if (work.change !== undefined) changeWishes(session, work.change)
  session.requests.set(message.id, request)
  if (!waits) begin(session, request)
  return request.reply
}

/** The time of the work runs from here on: waiting is not part of it. */
function begin(session: Session, request: SessionRequest): void {
  request.deadline = session.now() + request.timeout
  try {
    session.byTask.set(startRequest(request, session, session.tasks), request)
  } catch (error) {
    if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
    // the group is being restarted
    const { id } = request.request
    const message = 'The server is starting again: try once more'
    settle(
      session,
      request,
      buildError(id, {
        code: errorCodes.internalError,
        message,
        data: { retryable: true },
      }),
    )
  }
}

function changeWishes({ wishes, readers }: Session, change: (wishes: SessionWishes) => void): void {
  change(wishes)
  readers.prune((uri) => wishes.isSubscribed(uri))
}

/** A request has been worked on: it is answered, and the next one begins. */
export function taskEnded(session: Session, { from, reason }: Exit): void {
  const request = from === null ? undefined : session.byTask.get(from)
  if (from === null || request === undefined) return
  session.byTask.delete(from)
  session.questions.drop(request.request.id)
  session.lastActive = session.now()
  const { exposeErrors, maxRequests } = session.holdings.settings
  settle(
    session,
    request,
    responseAfter(request, from, reason, {
      exposeErrors,
      now: session.lastActive,
    }),
  )
  while (session.waiting.size > 0 && session.byTask.size < maxRequests) {
    const next = session.waiting.take()
    if (next !== undefined) begin(session, next)
  }
}

/** Only what is in flight can be cancelled, and only under the id as it was given: `1` and `"1"` are two. */
export function cancelWork(session: Session, id: unknown): void {
  const request = session.requests.get(id as RequestId)
  if (request === undefined) return session.cancelledEarly.add(id, session.now())
  request.cancelled = true
  if (session.waiting.delete(request)) settle(session, request, undefined)
  else request.task?.cancel()
}

/** The session ends, and with it all that it works on and that waits. */
export function endWork(session: Session): void {
  session.waiting.clear()
  for (const { request, arrivedAt } of session.requests.values()) {
    const duration = session.now() - arrivedAt
    noteRequest(session, request, () => ({
      type: 'error',
      duration,
      code: errorCodes.internalError,
    }))
  }
}

function settle(session: Session, request: SessionRequest, response: Response | undefined): void {
  session.requests.delete(request.request.id)
  answered(session, request.request, response, request.arrivedAt)
  request.reply.resolve(response)
}

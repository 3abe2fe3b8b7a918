import { errorCodes } from '../../protocol/wire/errors.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { forever, type ProcessRef } from '../../runtime/process/ref.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { isPromise } from '../../runtime/base/promise.js'
import { callerOf } from '../../transports/contract/caller.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import { busy, wouldWaitTooLong } from '../base/errors.js'
import { noteAnswer, noteRequest } from '../base/events.js'
import { impersonalFacts } from '../base/work-facts.js'
import type { Work } from '../requests/work.js'
import { run } from '../runs/run.js'
import type { RequestDelivery } from '../runs/seat.js'
import { unkeptResponse } from '../requests/answer.js'
import { noRoom } from '../requests/session-wishes.js'
import { rollBack } from './idle.js'
import { moved, type Session, unsavableWishes } from './session.js'
import { refused, SessionSeat } from './session-seat.js'

export interface SessionRequest {
  readonly work: Work
  readonly seat: SessionSeat
  readonly arrivedAt: number
  /** Undefined as long as it may be answered at once. */
  reply: Deferred<Response | undefined> | undefined
}

type PendingResponse = Response | undefined | Deferred<Response | undefined>

/**
 * Begins a request, or queues it: `limits.requests` of a session are at work, and while handlers take their time
 * sessions take turns; the others wait in order.
 */
export function startWork(
  session: Session,
  work: Work,
  delivery: RequestDelivery,
  ctx: ActorContext,
): PendingResponse {
  const { request: message, sink } = delivery
  const seat = new SessionSeat(session, delivery, work)
  const request: SessionRequest = { work, seat, arrivedAt: session.lastActive, reply: undefined }
  if (session.cancelledEarly.take(message.id, session.now())) return settle(session, request, undefined, ctx)
  const waits = work.waits !== true && hasToWait(session)
  const problem = waits ? whyNotWait(session, request) : whyNotBegin(session, work)
  if (problem !== undefined) return settle(session, request, busy(message.id, problem), ctx)
  sink.negotiated?.(session.facts.revision)
  if (work.change !== undefined) {
    changeWishes(session, request, work.change)
    session.changes += 1
    seat.saw = seat.changed = session.changes
    session.readers.prune((uri) => session.wishes.isSubscribed(uri))
  }
  session.requests.set(message.id, request)
  if (!waits) return begin(session, request, ctx)
  request.reply = ctx.defer()
  goOn(session, ctx)
  return request.reply
}

/** Throws McpError for what there is no room for: nothing of it stays. */
function changeWishes(session: Session, request: SessionRequest, change: NonNullable<Work['change']>): void {
  try {
    const undo = change(session.wishes)
    const problem = undo && unsavableWishes(session)
    request.seat.isWish = undo !== undefined
    if (problem === undefined) return
    undo?.()
    throw noRoom(problem)
  } catch (error) {
    session.waiting.delete(request)
    throw error
  }
}

/** Others wait already, or have all places, or handlers have had their time of this turn. */
function hasToWait(session: Session): boolean {
  return session.waiting.size > 0 || isBusy(session) || !session.holdings.rota.isFree
}

/** Has a request wait, or says why it may not. */
function whyNotWait(session: Session, request: SessionRequest): string | undefined {
  const { settings, rota } = session.holdings
  const { limits, timeouts } = settings
  // how long a place takes says nothing of the server
  if (!isBusy(session) && rota.wouldWait(callerOfSession(session, request), timeouts.waiting))
    return wouldWaitTooLong(timeouts.waiting)
  // while callers take turns, requests wait though there are free places: these are room, too
  const isFull = session.atWork.size + session.waiting.size >= limits.requests + limits.waiting
  return !isFull && session.waiting.add(request, request.seat.delivery.request) ? undefined : tooMany(limits)
}

/** Those that only wait for something else have no places, and are counted. */
function whyNotBegin({ idle, holdings }: Session, { waits }: Work): string | undefined {
  const { limits } = holdings.settings
  return waits === true && idle.size >= limits.waiting ? tooMany(limits) : undefined
}

function tooMany({ requests, waiting }: Session['holdings']['settings']['limits']): string {
  return `too many requests at once: ${requests} of a session are at work (limits.requests), and ${waiting}, or 64 MiB, may wait (limits.waiting): try again later`
}

/** Runs a request; its time runs from here on. What is done at once is answered at once. */
function begin(session: Session, request: SessionRequest, ctx: ActorContext): PendingResponse {
  const { work, seat } = request
  const answering = session.holdings.rota.run(
    () => callerOfSession(session, request),
    () => attempt(request),
  )
  if (!isPromise(answering)) return settle(session, request, answering, ctx)
  const places = work.waits === true ? session.idle : session.atWork
  places.add(seat.task.self)
  request.reply ??= ctx.defer()
  void answering.then((response) => settle(session, request, response, ctx))
  return request.reply
}

function attempt({ work, seat }: SessionRequest): ReturnType<typeof run> {
  try {
    return run(work, seat)
  } catch (error) {
    if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
    return seat.interrupted() // the group is being restarted
  }
}

/** Begins what waits: now, as far as there is time, and then in the session's turns. */
export function goOn(session: Session, ctx: ActorContext): void {
  const { rota } = session.holdings
  while (rota.isFree && session.waiting.size > 0 && !isBusy(session)) beginNext(session, ctx)
  const { first } = session.waiting
  if (first === undefined || isBusy(session)) return
  const caller = callerOfSession(session, first)
  const turn = (): Promise<void> =>
    session.self.call('turn', undefined, forever).catch(() => {
      // its mailbox is full
      if (session.self.alive) rota.wait(caller, turn)
    })
  for (; session.turns < session.waiting.size; session.turns += 1) rota.wait(caller, turn)
}

export function beginNext(session: Session, ctx: ActorContext): void {
  const next = isBusy(session) ? undefined : session.waiting.take()
  if (next !== undefined) begin(session, next, ctx)
}

/** A task of the session has ended: its place is for the next one. */
export function taskEnded(session: Session, from: ProcessRef | null, ctx: ActorContext): void {
  if (from !== null && !session.atWork.delete(from)) session.idle.delete(from)
  goOn(session, ctx)
}

/** Whether as many requests are at work as may be; those that only wait for something else do not count. */
function isBusy({ atWork, holdings }: Session): boolean {
  return atWork.size >= holdings.settings.limits.requests
}

/** Cancels a request in flight, or one to come, by its id as it was given: `1` and `"1"` are two. */
export function cancelWork(session: Session, id: unknown, peer: Peer, ctx: ActorContext): void {
  const request = session.requests.get(id as RequestId)
  if (request === undefined) {
    if (mayOvertake.has(peer.transport)) session.cancelledEarly.add(id, session.now())
    return
  }
  request.seat.cancel()
  if (session.waiting.delete(request)) settle(session, request, undefined, ctx)
}

/** Transports whose messages come one by one: a notification may be here before its request. */
const mayOvertake: ReadonlySet<string> = new Set(['http', 'sse'])

export function endWork(session: Session): void {
  session.waiting.clear()
  for (const { seat, arrivedAt } of session.requests.values())
    noteRequest(session, seat.delivery.request, () => ({
      type: 'error',
      duration: session.now() - arrivedAt,
      code: errorCodes.internalError,
      about: impersonalFacts(seat.delivery.request, seat.peer, session.facts.id),
    }))
}

/** Once for each request; one that is still at work when the session ends is settled by `endWork`. */
function settle(
  session: Session,
  { seat, arrivedAt, reply }: SessionRequest,
  response: Response | undefined,
  ctx: ActorContext,
): Response | undefined {
  if (!session.self.alive) return undefined
  session.requests.delete(seat.requestId)
  session.questions.drop(seat.requestId)
  session.lastActive = session.now()
  answered(session, seat.delivery, response, arrivedAt)
  reply?.resolve(response)
  if (seat.rollsBack) {
    if (seat.isBlameless) refuseOthers(session)
    rollBack(session, ctx)
  } else if (session.isLeaving) leaveIfIdle(session, ctx)
  return response
}

/** Whoever has changed what the store refuses is told so, and not to try it again. */
function refuseOthers({ requests, saved }: Session): void {
  for (const { seat, reply } of requests.values())
    if (seat.changed > saved) reply?.resolve(unkeptResponse(seat.requestId, refused()))
}

/** Ends a session that is to go on on another node. Answers whether it does. */
export function leaveIfIdle(session: Session, ctx: ActorContext): boolean {
  const isIdle = session.requests.size === 0 && session.notices === 0
  if (isIdle) ctx.stop(moved)
  return isIdle
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

function callerOfSession({ facts }: Session, { seat }: SessionRequest): string {
  return callerOf(seat.peer, facts.id)
}

/** It waits for its turn as long as it takes. */

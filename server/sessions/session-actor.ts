import { acceptsNotification } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import {
  buildError,
  isNotification,
  isRequest,
  type JsonRpcNotification,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { type Deferred, defineActor, type Refusal, refuse } from '../../runtime/process/behaviour.js'
import { normal } from '../../runtime/base/exit.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type ProcessRef, processOf, type RefOf } from '../../runtime/process/ref.js'
import type { Sink, Peer, Response } from '../../transports/contract/contract.js'
import { answerNow, encodedResult, refusal } from '../requests/answer.js'
import type { OpenSessionFacts } from '../context/context.js'
import { AskError } from '../base/errors.js'
import { route } from '../requests/router.js'
import {
  hibernated,
  noteAllUpdated,
  noteMissed,
  noteSession,
  openSession,
  recordSession,
  unsavable,
  type Session,
  type SessionInput,
  wantFor,
} from './session.js'
import { noteNotification, noteRequest } from '../base/events.js'
import { isAudited, refusedCall } from '../runs/audited.js'
import type { RequestDelivery } from '../runs/seat.js'
import { takeNotice } from './notices.js'
import type { SessionPhase } from '../holdings/session-life.js'
import type { ClientQuestion } from './questions.js'
import { hearersOf } from '../catalog/authorization.js'
import { peerProblem } from './access.js'
import { hibernate, lookAtUse, rollBack } from './idle.js'
import { learnConfirmation, shareConfirmation } from './saving.js'
import type { SessionRecord } from '../engine/session-store.js'
import { answered, beginNext, cancelWork, endWork, goOn, leaveIfIdle, startWork, taskEnded } from './work.js'

/** A message of the client, and the sink for messages before its answer. */
export interface Delivery {
  readonly message: Message
  readonly sink: Sink
  readonly peer: Peer
}

/** What people and programs see of a session. */
export interface SessionInfo extends OpenSessionFacts {
  readonly phase: SessionPhase
  /** Requests that are not answered yet. */
  readonly requests: number
  /** How many of them wait for their turn (`limits.requests`). */
  readonly waiting: number
  /** Attached readers, such as GET streams. */
  readonly readers: number
  /** The session's process; undefined while it hibernates, as it has none. */
  readonly ref: ProcessRef | undefined
}

/** A change of a resource, and who may hear of it. */
interface NotedUpdate {
  readonly uri: string
  readonly number: number
  readonly mayHear: ((peer: Peer) => boolean) | undefined
}

/** Its handlers are short and run no author's code: ping and cancellation are served while tools run. */
export const sessionActor = defineActor({
  name: 'session',
  trapExit: true,
  stray: 'report',
  mailboxLimit: 10_000,
  init(input: SessionInput, ctx: ActorContext): Session {
    const session = openSession(input, ctx)
    ctx.own(() => close(session))
    lookAtUse(session, ctx)
    return session
  },
  call: {
    deliver: (session, { message, sink, peer }: Delivery, ctx) => {
      const problem = peerProblem(session.record, peer)
      if (problem !== undefined) return refuse(problem)
      session.lastActive = session.now()
      session.isHeard = true
      notePeer(session, peer)
      if (isRequest(message)) return takeRequest(session, { request: message, sink, peer }, ctx)
      if (isNotification(message)) return takeNotification(session, message, peer, ctx)
      session.questions.answer(message)
      return undefined
    },
    /** Its turn among the sessions: it begins the next request. */
    turn: (session, _nothing: undefined, ctx) => {
      session.turns -= 1
      beginNext(session, ctx)
      goOn(session, ctx)
    },
    read: (session, key: string) => session.state.read(key),
    swap: (session, { key, version, value }: { key: string; version: number; value: unknown }) =>
      // whoever has seen an older value runs again, with what may be less
      (session.state.read(key).version === version ? unsavable(session, key, value) : undefined) ??
      session.state.swap(key, version, value),
    record: (session) => recordSession(session),
    share: (session): Session => session,
    /** Ends it once it is idle, to be restored on another node. Answers whether it ends now. */
    leave(session, _nothing: undefined, ctx) {
      session.isLeaving = true
      return leaveIfIdle(session, ctx)
    },
    ask: (session, asking: ClientQuestion, ctx) => ask(session, asking, ctx),
    adopt: (session, record: SessionRecord) => adopt(session, record),
    attach: (session, { sink, peer }: { sink: Sink; peer: Peer | undefined }) => attach(session, sink, peer),
    /**
     * The session's revision; refused if the peer's MCP-Protocol-Version differs, or the session is not its.
     */
    revision: ({ record }, peer: Peer | undefined) => {
      const problem = peerProblem(record, peer)
      return problem === undefined ? record.revision : refuse(problem)
    },
    info: (session): SessionInfo => ({
      ...session.facts,
      phase: session.phase,
      requests: session.requests.size,
      waiting: session.waiting.size,
      readers: session.readers.size,
      ref: session.self,
    }),
  },
  cast: {
    detach: (session, sink: Sink) => {
      session.lastActive = session.now()
      session.readers.detach(sink)
    },
    changed: (session) => {
      learnConfirmation(session)
      tellChanges(session)
    },
    updated: (session, { uri, number, mayHear }: NotedUpdate) => {
      // what it was woken after it knows already
      if (number <= session.heard) return
      session.heard = number
      const { lastPeer } = session
      const hears = mayHear === undefined || lastPeer === undefined || mayHear(lastPeer)
      if (hears && session.wishes.isSubscribed(uri)) session.readers.noteUpdated(uri)
      learnConfirmation(session)
      tellChanges(session)
    },
    /** Tells a reader, if there is one. */
    tell: (session, message: JsonRpcNotification) => {
      if (session.phase === 'ready') session.readers.tell(message)
    },
    /** Messages to a reader may not have reached the client. */
    missed: (session) => {
      noteMissed(session)
      tellChanges(session)
    },
    /** Any of its resources may have changed. */
    allUpdated: (session, number: number) => {
      session.heard = Math.max(session.heard, number)
      noteAllUpdated(session)
      learnConfirmation(session)
      tellChanges(session)
    },
    /** Its record of this version is saved. */
    hibernate,
    /** It could not be saved as it is. */
    rollBack: (session, _nothing: undefined, ctx) => rollBack(session, ctx),
  },
  info: {
    exit: (session, { from }, ctx) => taskEnded(session, from, ctx),
    timer: (session, question, ctx) =>
      question === undefined ? lookAtUse(session, ctx) : session.questions.expire(question as RequestId),
  },
})

export type SessionRef = RefOf<typeof sessionActor>

function takeRequest(
  session: Session,
  delivery: RequestDelivery,
  ctx: ActorContext,
): Response | undefined | Deferred<Response | undefined> {
  const { request, peer } = delivery
  const { id } = request
  noteRequest(session, request, () => ({ type: 'start' }))
  if (session.requests.has(id)) {
    const why = { code: errorCodes.invalidRequest, message: 'a request with this id is in flight' }
    return answerAtOnce(session, delivery, () => buildError(id, why))
  }
  try {
    const { dialect, holdings, facts, mcpTasks: tasks } = session
    const { capabilities } = facts
    const { catalog } = holdings
    // a literal alone: parts that are spread cost a call a third more
    const scope = { dialect, catalog, peer, session: facts.id, capabilities, tasks }
    const planned = route(request, scope)
    if ('text' in planned)
      return answerAtOnce(session, delivery, () => encodedResult(id, planned.result, planned.text))
    return startWork(session, planned, delivery, ctx)
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    // to find out that there is no such thing may have taken long: others have their turn
    processOf(session.self).tree.scheduler.began(false)
    const { auditor } = session.holdings
    if (auditor === undefined || !isAudited(request))
      return answerAtOnce(session, delivery, () => refusal(id, error, session.dialect))
    const call = { ...refusedCall(delivery, session.now()), session: session.facts.id }
    const made = answerNow(request, session.dialect, session.origin, () =>
      refusal(id, error, session.dialect),
    )
    const reply = ctx.defer<Response | undefined>()
    const { lastActive } = session
    void auditor
      .answered(call, made)
      .then((response) => reply.resolve(answered(session, delivery, response, lastActive)))
    return reply
  }
}

function answerAtOnce(session: Session, delivery: RequestDelivery, make: () => Response): Response {
  return answered(session, delivery, answerNow(delivery.request, session.dialect, session.origin, make))
}

/** Asks the client over the stream of the request that asks (specification: transports). */
function ask(session: Session, asking: ClientQuestion, ctx: ActorContext): Deferred<object> | Refusal {
  const request = session.requests.get(asking.of)
  if (request === undefined || request.seat.cancelled)
    return refuse(new AskError('CLIENT_GONE', `${asking.method}: the request has ended`))
  try {
    return session.questions.ask(asking, request.seat.delivery.sink, session.phase === 'ready', ctx)
  } catch (error) {
    if (error instanceof AskError) return refuse(error)
    throw error
  }
}

/** A notification is never answered, so one that does not fit is ignored. */
function takeNotification(
  session: Session,
  notification: JsonRpcNotification,
  peer: Peer,
  ctx: ActorContext,
): Deferred<undefined> | undefined {
  const { method, params } = notification
  noteNotification(session.origin, 'received', method)
  const own = session.holdings.catalog.lowLevel.notifications.get(method)
  if (own !== undefined) takeNotice(session, own, notification, peer)
  if (!acceptsNotification(session.dialect, 'server', method)) return undefined
  if (method === 'notifications/cancelled') cancelWork(session, params?.requestId, peer, ctx)
  return method === 'notifications/initialized' ? confirm(session, ctx) : undefined
}

function confirm(session: Session, ctx: ActorContext): Deferred<undefined> | undefined {
  const shared = shareConfirmation(session, ctx)
  becomeReady(session)
  return shared
}

function becomeReady(session: Session): void {
  session.life.send('initialized')
  tellChanges(session)
}

function attach(session: Session, sink: Sink, peer: Peer | undefined): Refusal | undefined {
  const problem = peerProblem(session.record, peer)
  if (problem !== undefined) return refuse(problem)
  session.lastActive = session.now()
  session.isHeard = true
  if (peer !== undefined) notePeer(session, peer)
  sink.negotiated?.(session.facts.revision)
  session.readers.attach(sink)
  tellChanges(session)
  return undefined
}

/** Whose token came last decides what its client may hear of, where that depends on it. */
function notePeer(session: Session, { principal, trusted }: Peer): void {
  if (!session.holdings.catalog.guardsResources) return
  const { lastPeer } = session
  if (lastPeer !== undefined && lastPeer.principal === principal && lastPeer.trusted === trusted) return
  const who = { principal, ...(trusted !== undefined && { trusted }) }
  session.lastPeer = { transport: '', headers: {}, remoteAddress: undefined, ...who }
}

/** Before `notifications/initialized` the client gets no messages (specification: lifecycle). */
function tellChanges({ phase, readers, holdings, lastPeer }: Session): void {
  if (phase !== 'ready') return
  const { catalog } = holdings
  readers.tellCatalog(catalog)
  readers.tellUpdated((uri) => lastPeer === undefined || hearersOf(uri, catalog)?.(lastPeer) !== false)
}

/** Takes over what another program made of the session; its record counts if it is newer than ours. */
function adopt(session: Session, record: SessionRecord): void {
  session.isConfirmed ||= record.initialized === true
  if (record.version > session.version) {
    session.noteOther(record)
    session.state.adopt(record.state)
    const before = new Set(session.wishes.subscriptions)
    session.wishes.adopt(record, (uri) => wantFor(session.holdings, uri, record.id))
    // of changes since then nothing was noted here
    for (const uri of session.wishes.subscriptions) if (!before.has(uri)) session.readers.noteUpdated(uri)
    session.readers.prune((uri) => session.wishes.isSubscribed(uri))
  }
  if (record.initialized === true && session.phase === 'initializing') becomeReady(session)
}

function close(session: Session): void {
  session.life.send('closed')
  const reason = processOf(session.self).reason ?? normal
  // after a crash it is brought back for whoever asks
  session.readers.end(reason.type !== 'normal')
  session.wishes.end()
  endWork(session)
  if (reason === hibernated) noteSession(session, 'hibernated')
  else noteSession(session, 'ended', { reason: reason.type })
}

import { acceptsNotification, type Dialect } from '../protocol/dialect.js'
import { errorCodes, McpError, toJsonRpcError } from '../protocol/errors.js'
import {
  buildError,
  isNotification,
  isRequest,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../protocol/jsonrpc.js'
import { type Deferred, defineActor, type Exit } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { RuntimeError } from '../runtime/errors.js'
import { normal } from '../runtime/exit.js'
import { describe } from '../runtime/inspect.js'
import type { ProcessRef, RefOf } from '../runtime/ref.js'
import { TaskSupervisor } from '../runtime/task-supervisor.js'
import type { Outlet, Peer, Response } from '../transports/contract.js'
import type { SessionFacts } from './context.js'
import { tooManyRequests } from './errors.js'
import type { Holdings } from './holdings-actor.js'
import { route, serverCapabilities, type Work } from './router.js'
import { nextPhase, type SessionPhase } from './session-machine.js'
import {
  encodedResult,
  responseAfter,
  type SessionLink,
  type SessionRequest,
  startRequest,
} from './session-request.js'
import { SessionReaders } from './session-readers.js'
import { SessionState } from './session-state.js'
import type { SessionRecord } from './session-store.js'

/** What a session is started with: anew, or from what was kept of it. */
export interface SessionInput {
  readonly record: SessionRecord
  readonly restored: boolean
  readonly dialect: Dialect
  readonly holdings: Holdings
}

/** One message of the client, and where what comes before its answer goes. */
export interface Delivery {
  readonly message: Message
  readonly outlet: Outlet
  readonly peer: Peer
}

/** What people and programs see of a session. */
export interface SessionInfo extends SessionFacts {
  readonly phase: SessionPhase
  /** Requests that are worked on. */
  readonly requests: number
  /** Attached readers, such as GET streams. */
  readonly readers: number
  /** The session's process. */
  readonly ref: ProcessRef
}

interface Session extends SessionInput, SessionLink {
  readonly state: SessionState
  readonly tasks: TaskSupervisor
  readonly requests: Map<RequestId, SessionRequest>
  readonly byTask: Map<ProcessRef, SessionRequest>
  readonly readers: SessionReaders
  phase: SessionPhase
  version: number
  lastActive: number
  lastSaved: number
  now(): number
  [describe](): string
}

/**
 * One session: what it keeps, and which requests are in flight. Its handlers are short and run no code of an author; requests run as
 * tasks beside it, so ping and cancellation are served while tools run.
 */
export const sessionActor = defineActor({
  name: 'session',
  trapExit: true,
  stray: 'report',
  mailboxLimit: 10_000,
  init(input: SessionInput, ctx: ActorContext): Session {
    const session = open(input, ctx)
    ctx.own(() => close(session))
    ctx.sendAfter(input.holdings.settings.idleTimeout)
    return session
  },
  call: {
    deliver: (session, { message, outlet, peer }: Delivery, ctx) => {
      session.lastActive = session.now()
      if (isRequest(message)) return takeRequest(session, { message, outlet, peer }, ctx)
      if (isNotification(message)) takeNotification(session, message)
      return undefined
    },
    read: (session, key: string) => session.state.read(key),
    swap: (session, { key, version, value }: { key: string; version: number; value: unknown }) =>
      session.state.swap(key, version, value),
    record: (session) => toRecord(session),
    attach: (session, outlet: Outlet) => attach(session, outlet),
    info: (session): SessionInfo => ({
      ...session.facts,
      phase: session.phase,
      requests: session.requests.size,
      readers: session.readers.size,
      ref: session.self,
    }),
  },
  cast: {
    detach: (session, outlet: Outlet) => {
      session.lastActive = session.now()
      session.readers.detach(outlet)
    },
    changed: (session) => tellChanges(session),
  },
  info: {
    exit: (session, exit) => taskEnded(session, exit),
    timer: (session, _payload, ctx) => expireIfIdle(session, ctx),
  },
})

function open(input: SessionInput, ctx: ActorContext): Session {
  const { record, restored, holdings } = input
  const { id, client, revision, capabilities } = record
  const { clock } = ctx
  const tasks = ctx.registry.whereis(holdings.settings.names.tasks)
  if (tasks === undefined)
    throw new RuntimeError('NOPROC', 'a session needs the task supervisor of its group', { retryable: true })
  const session: Session = {
    ...input,
    facts: Object.freeze({ id, client, revision, capabilities }),
    self: ctx.self as RefOf<typeof sessionActor>,
    store: holdings.store,
    state: new SessionState(record.state),
    tasks: new TaskSupervisor(tasks, Number.POSITIVE_INFINITY),
    requests: new Map(),
    byTask: new Map(),
    readers: new SessionReaders(record.catalog),
    phase: restored ? 'ready' : 'initializing',
    version: record.version,
    lastActive: clock.now(),
    lastSaved: clock.now(),
    now: clock.now,
    [describe]: () => `${session.phase}, ${session.requests.size} in flight`,
  }
  return session
}

function takeRequest(
  session: Session,
  { message, outlet, peer }: Delivery & { message: JsonRpcRequest },
  ctx: ActorContext,
) {
  const { id } = message
  if (session.requests.has(id))
    return refusal(id, errorCodes.invalidRequest, 'a request with this id is in flight')
  try {
    const planned = route(message, {
      dialect: session.dialect,
      capabilities: serverCapabilities,
      catalog: session.holdings.catalog,
    })
    if ('text' in planned) return encodedResult(id, planned.result, planned.text)
    return startWork(session, planned, { message, outlet, peer }, ctx)
  } catch (error) {
    if (error instanceof McpError) return buildError(id, toJsonRpcError(error))
    throw error
  }
}

function startWork(
  session: Session,
  work: Work,
  { message, outlet, peer }: Delivery & { message: JsonRpcRequest },
  ctx: ActorContext,
): Deferred<Response | undefined> | Response {
  const { maxRequests, requestTimeout, idleTimeout } = session.holdings.settings
  if (session.requests.size >= maxRequests) {
    return refusal(message.id, tooManyRequests, `a session may have ${maxRequests} requests at once`)
  }
  const { timeout = requestTimeout } = work
  const request: SessionRequest = {
    request: message,
    work,
    outlet,
    peer,
    reply: ctx.defer<Response | undefined>(),
    timeout,
    deadline: session.lastActive + timeout,
    task: undefined,
    // saved now and then also without a change, so that a store can tell what is in use
    unsaved: session.lastActive - session.lastSaved > idleTimeout / 10,
    cancelled: false,
    response: undefined,
  }
  session.requests.set(message.id, request)
  try {
    session.byTask.set(startRequest(request, session, session.tasks), request)
  } catch (error) {
    if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
    // the group is being restarted
    session.requests.delete(message.id)
    request.reply.resolve(
      refusal(message.id, errorCodes.internalError, 'The server is starting again: try once more'),
    )
  }
  return request.reply
}

function taskEnded(session: Session, { from, reason }: Exit): void {
  const request = from === null ? undefined : session.byTask.get(from)
  if (from === null || request === undefined) return
  session.byTask.delete(from)
  session.requests.delete(request.request.id)
  session.lastActive = session.now()
  const { exposeErrors } = session.holdings.settings
  request.reply.resolve(responseAfter(request, from, reason, { exposeErrors, now: session.lastActive }))
}

/** What a client tells; whatever does not fit is ignored, since a notification is never answered. */
function takeNotification(session: Session, { method, params }: JsonRpcNotification): void {
  if (!acceptsNotification(session.dialect, 'server', method)) return
  if (method === 'notifications/cancelled') return cancel(session, params?.requestId)
  if (method !== 'notifications/initialized') return
  session.phase = nextPhase(session.phase, 'initialized')
  tellChanges(session)
}

/** Only what is in flight can be cancelled, and only under the id as it was given: `1` and `"1"` are two. */
function cancel({ requests }: Session, id: unknown): void {
  const request = requests.get(id as RequestId)
  if (request === undefined) return
  request.cancelled = true
  request.task?.cancel()
}

function attach(session: Session, outlet: Outlet): void {
  session.lastActive = session.now()
  session.readers.attach(outlet)
  tellChanges(session)
}

function tellChanges({ phase, readers, holdings }: Session): void {
  if (phase === 'ready') readers.tellCatalog(holdings.catalog.version)
}

function expireIfIdle(session: Session, ctx: ActorContext): void {
  const { idleTimeout } = session.holdings.settings
  const inUse = session.requests.size > 0 || session.readers.size > 0
  const left = inUse ? idleTimeout : idleTimeout - (session.now() - session.lastActive)
  if (left <= 0) ctx.stop(normal)
  else ctx.sendAfter(left)
}

function close(session: Session): void {
  session.phase = nextPhase(session.phase, 'closed')
  session.readers.end()
}

function toRecord(session: Session): SessionRecord {
  const { facts, state, readers } = session
  session.version += 1
  session.lastSaved = session.now()
  return Object.freeze({
    ...facts,
    version: session.version,
    catalog: readers.told,
    state: Object.freeze(state.toRecord()),
  })
}

function refusal(id: RequestId, code: number, message: string): Response {
  return buildError(id, { code, message })
}

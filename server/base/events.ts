import type { JsonRpcRequest, RequestId } from '../../protocol/wire/jsonrpc.js'
import { type EventChannels, eventChannels, type WorkFacts } from '../../runtime/faults/events.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import { optionError } from './errors.js'

/** Where something happened. */
export interface RequestOrigin {
  /** The name of the server. */
  readonly server: string
  readonly tree: number
  /** The process of the session; absent in a revision without sessions (2026-07-28). */
  readonly process?: number
}

/** Which session an event is about: by its process, since the id of a session is for its client alone. */
export interface SessionOrigin extends RequestOrigin {
  /** The number of the session's process in its tree; another one after a restart. */
  readonly process: number
}

/**
 * A session came or went. One that is `hibernated` has no process, and did not end: it ends, or is `woken` by
 * its next message.
 */
export interface SessionEvent extends SessionOrigin {
  readonly type: 'opened' | 'restored' | 'hibernated' | 'woken' | 'ended'
  readonly revision: string
  /** Why it ended: `normal`, `shutdown`, `crash`, `killed`. */
  readonly reason?: string
  /** Of `woken`: the number of the process that it had before. */
  readonly was?: number
}

/**
 * A request came, and was answered: with a result (`stop`), with an error or a result of a tool that failed
 * (`error`), or, when cancelled, not at all (`stop`).
 */
export interface RequestEvent extends RequestOrigin {
  readonly type: 'start' | 'stop' | 'error'
  /** As the client wrote it, at most 100 characters. */
  readonly method: string
  /** As the client chose it. */
  readonly id: RequestId
  /** Milliseconds from its start; absent in `start`. */
  readonly duration?: number
  /** The JSON-RPC code of an `error`; absent for a tool that failed. */
  readonly code?: number
  /** Whether it is the result of a tool that failed (`isError`), by a crash or in its own words. */
  readonly isError?: boolean
  /** Whether the client cancelled it. */
  readonly cancelled?: boolean
  /** The tool that was called, if the server has it; absent in `start`. */
  readonly tool?: string
  /** Of an `error`: by what it is found in other logs. */
  readonly about?: WorkFacts
}

/**
 * A request is worked on, told before that begins, in the task that does it where there is one. Whoever hears
 * may set `around`, which is then given the work to run: for spans, and other contexts of async code. Not
 * logged.
 */
export interface WorkEvent extends RequestOrigin {
  /** At most 100 characters. */
  readonly method: string
  readonly id: RequestId
  /** The tool, prompt or resource that is asked for, at most 200 characters. */
  readonly target?: string
  /** The revision of MCP that is spoken. */
  readonly revision: string
  /** `params._meta` as the client sent it. */
  readonly meta: Readonly<Record<string, unknown>>
  /** Aborted when the work is given up: cancelled, too late, or ended with its server. */
  readonly signal: AbortSignal
  /** Runs the work and returns what it returns: a response, or a promise of one. */
  around?: Around
}

/** Runs something, and returns what that returns. */
type Around = <Result>(run: () => Result) => Result

/** A notification came from the client, or was sent to it. */
export interface NotificationEvent extends RequestOrigin {
  readonly type: 'received' | 'sent'
  /** At most 100 characters. */
  readonly method: string
}

/**
 * What a node of a cluster tells. It is logged, unless `logLevels` says otherwise.
 * - `serving`, `refusing`: it serves sessions (again), or refuses them.
 * - `stranger`: another node is there that it cannot talk to.
 * - `unsafe`: the engine may lose what nodes keep, or may be written to by others, as nothing is signed.
 * - `damaged`: what was read from the engine was not written by a node of this cluster; at most once a minute.
 * - `unsaved`: the engine has not saved sessions; every 10 s at most.
 */
export interface NodeEvent {
  readonly type: 'serving' | 'refusing' | 'stranger' | 'unsafe' | 'damaged' | 'unsaved'
  readonly level: 'warn'
  readonly tree: number
  /** This node, as the others call it. */
  readonly node: string
  /** What the nodes share: `redis 10.0.0.5:6379`. */
  readonly engine: string
  /** Why, and what to do. */
  readonly problem?: string
}

/**
 * What a gateway tells of a server behind it: that its client, its lists, or entries of them could not be
 * had, that its options name what there is not, that definitions of it are held back, could not be
 * remembered, or have characters that nobody sees. It is logged, unless `logLevels` says otherwise.
 */
export interface GatewayEvent {
  readonly type:
    | 'not_started'
    | 'not_listed'
    | 'unknown_name'
    | 'held_back'
    | 'not_pinned'
    | 'hidden_characters'
  readonly level: 'warn'
  readonly tree: number
  /** The name of the gateway, as a server. */
  readonly server: string
  /** The server behind it; empty: all of them. */
  readonly upstream: string
  /** Why, and what is done. */
  readonly problem: string
}

/** What a server tells those who run it. It is logged, unless `logLevels` says otherwise. */
export interface ServerNoticeEvent {
  /**
   * At its start: its sessions end with its program. At SIGHUP: it has nothing to reload. That entries of its
   * audit log are lost, or are taken again. Once: that `ctx.log` reaches nobody, as its definition has no `logging`.
   */
  readonly type: 'sessions_in_memory' | 'not_reloaded' | 'audit' | 'logging_not_declared'
  readonly level: 'info' | 'warn'
  readonly tree: number
  /** The name of the server. */
  readonly server: string
  /** What is so, and what to do. */
  readonly problem: string
}

/**
 * What servers tell: published on `node:diagnostics_channel` as `caduceus.server.NAME`. But for `work`, no
 * event has params, results, principals, addresses, ids of sessions or messages of errors in it: those may be
 * secret. The `error` of a request says by which ids it is found: a digest of that of its session, its trace,
 * and its `x-request-id`.
 */
export interface ServerEvents {
  session: SessionEvent
  request: RequestEvent
  work: WorkEvent
  notification: NotificationEvent
  node: NodeEvent
  gateway: GatewayEvent
  notice: ServerNoticeEvent
}

const channels = eventChannels<ServerEvents>(
  'caduceus.server',
  ['session', 'request', 'work', 'notification', 'node', 'gateway', 'notice'],
  optionError,
)

/** Tells subscribers of an event; the payload is made only when somebody listens. */
export const emitServer = channels.emit

export function originOf(self: ProcessRef, server: string): SessionOrigin {
  return Object.freeze({ server, tree: processOf(self).tree.id, process: self.id })
}

type RequestOutcome = Omit<RequestEvent, keyof RequestOrigin | 'method' | 'id'>

export function noteRequest(
  { origin }: { readonly origin: RequestOrigin },
  { id, method }: JsonRpcRequest,
  outcome: () => RequestOutcome,
): void {
  emitServer('request', () => ({ ...origin, method: method.slice(0, 100), id, ...outcome() }))
}

/** The rest of a request event; called only when somebody listens. */
interface RequestDetails {
  readonly duration: () => number
  readonly hasTool: (name: string) => boolean
  readonly about: () => WorkFacts
}

/** Emits the event of an answered request. */
export function noteAnswer(
  from: { readonly origin: RequestOrigin },
  message: JsonRpcRequest,
  response: Response | undefined,
  asked: RequestDetails,
): void {
  noteRequest(from, message, () => outcomeOf(message, response, asked))
}

function outcomeOf(
  { method, params }: JsonRpcRequest,
  response: Response | undefined,
  { duration, hasTool, about }: RequestDetails,
): RequestOutcome {
  const name = method === 'tools/call' ? params?.name : undefined
  const isTool = typeof name === 'string' && hasTool(name)
  const past = { duration: duration(), ...(isTool && { tool: name.slice(0, 200) }) }
  if (response === undefined) return { type: 'stop', ...past, cancelled: true }
  const facts = about()
  const found = Object.keys(facts).length > 0 && { about: facts }
  if ('error' in response) return { type: 'error', ...past, code: response.error.code, ...found }
  const isError = method === 'tools/call' && response.result.isError === true
  return isError ? { type: 'error', ...past, isError, ...found } : { type: 'stop', ...past }
}

export const isWorkHeard = (): boolean => channels.isHeard('work')

/** Does the work of a request, within what subscribers put around it. */
export function withWork<Result>(event: WorkEvent, run: () => Result): Result {
  channels.emit('work', () => event)
  return event.around === undefined ? run() : event.around(run)
}

export function noteNotification(
  origin: RequestOrigin,
  type: NotificationEvent['type'],
  method: string,
): void {
  emitServer('notification', () => ({ ...origin, type, method: method.slice(0, 100) }))
}

/** Hears every event of that name in this Node process until the returned undo runs. Throws BAD_OPTION. */
export const subscribeServer: EventChannels<ServerEvents>['subscribe'] = channels.subscribe

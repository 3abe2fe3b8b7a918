import { currentOwner } from '../../runtime/faults/containment.js'
import { type EventChannels, eventChannels } from '../../runtime/faults/events.js'
import { throttle } from '../../runtime/base/throttle.js'
import type { Clock } from '../../runtime/time/clock.js'
import { optionError } from '../base/errors.js'
import { isAddress } from './address.js'

/** Which listener an event is about. */
export interface ListenerOrigin {
  /** `http` (mounted or not), `sse`, `websocket`, `stdio`, `memory`, `shared`, or a name of your own. */
  readonly transport: string
  /** The number of its process tree, as in the events of the runtime. */
  readonly tree: number | undefined
}

/** A port, or the pipes of the program, were bound or released. */
export interface ListenerEvent extends ListenerOrigin {
  readonly type: 'listening' | 'stopped'
  /** The name of the server. */
  readonly server: string
  readonly url: string | undefined
  readonly port: number | undefined
}

/** A connection opened, closed or was refused; or a request was refused. */
export interface ConnectionEvent extends ListenerOrigin {
  /** `refused`: a connection, or one request on it. */
  readonly type: 'opened' | 'closed' | 'refused'
  /** The number of the connection on its listener; absent where a request was refused. */
  readonly connection?: number
  /** Its address, or the one that a proxy names (`trustProxy`); undefined for what is no address. */
  readonly remoteAddress: string | undefined
  /** The HTTP status that a request was refused with. */
  readonly status?: number
  /** Why a request was refused, such as a bad token or a silent issuer; nothing that was sent. */
  readonly problem?: string
  /** Why a connection was refused. */
  readonly reason?: 'limit' | 'client_limit' | 'stopping'
}

/** An event stream of Streamable HTTP began, was resumed, was ended early to be resumed, or is over. */
export interface StreamEvent extends ListenerOrigin {
  readonly type: 'opened' | 'resumed' | 'released' | 'closed'
  /** Whether it belongs to one request, or to the session. */
  readonly kind: 'call' | 'listen'
}

/** What those who run a listener have to mend: whoever says who a caller is cannot be asked, and all wait. */
export interface ListenerNoticeEvent extends ListenerOrigin {
  readonly type: 'not_identified'
  readonly level: 'warn'
  /** Why; nothing that was sent. */
  readonly problem: string
  /** Requests that were refused for it since the last notice, this one included: there is one a minute. */
  readonly refused: number
}

/**
 * The events of listeners, on `node:diagnostics_channel` as `caduceus.transport.NAME`. None has headers,
 * queries, bodies, principals, or ids of sessions, streams or events in it.
 */
export interface TransportEvents {
  listener: ListenerEvent
  connection: ConnectionEvent
  stream: StreamEvent
  notice: ListenerNoticeEvent
}

const channels = eventChannels<TransportEvents>(
  'caduceus.transport',
  ['listener', 'connection', 'stream', 'notice'],
  optionError,
)

/** Tells subscribers of an event; the payload is made only when somebody listens. */
export const emitTransport = channels.emit

/** Hears all events of that name in this process until the returned function is called. Throws BAD_OPTION. */
export const subscribeTransport: EventChannels<TransportEvents>['subscribe'] = channels.subscribe

/** The listener that is being set up by the running code. */
export function originHere(transport: string): ListenerOrigin {
  return Object.freeze({ transport, tree: currentOwner()?.afterlife?.tree })
}

/** Tells of a request refused with this status, or a connection refused for this reason. */
export function noteRefused(
  origin: ListenerOrigin,
  address: string | undefined,
  why: Pick<ConnectionEvent, 'status' | 'problem' | 'reason'>,
): void {
  emitTransport('connection', () => ({
    ...origin,
    type: 'refused',
    remoteAddress: addressOf(address),
    ...why,
  }))
}

/** Tells, once a minute, that a request was refused since nobody could say who it is from. */
export function unidentifiedNotes(
  origin: ListenerOrigin,
  clock: Pick<Clock, 'now'>,
): (problem: string) => void {
  const mayTell = throttle(clock.now, 1, 60_000)
  return (problem) => {
    const held = mayTell()
    if (held === undefined) return
    const told = { type: 'not_identified', level: 'warn', problem, refused: held + 1 } as const
    emitTransport('notice', () => ({ ...origin, ...told }))
  }
}

/** Whether a status is a refusal: by the guard, for lack of authorization, for its size, or at a limit. */
export function isKeptOut(status: number): boolean {
  return status === 401 || status === 403 || status === 413 || status === 429 || status === 503
}

/** The address, if it is one: a proxy may pass on anything. */
export function addressOf(text: string | undefined): string | undefined {
  return text !== undefined && isAddress(text) ? text : undefined
}

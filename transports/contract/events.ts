import { currentOwner } from '../../runtime/faults/containment.js'
import { type EventChannels, eventChannels } from '../../runtime/faults/events.js'
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

/**
 * The events of listeners, on `node:diagnostics_channel` as `caduceus.transport.NAME`. None has headers,
 * queries, bodies, principals, or ids of sessions, streams or events in it.
 */
export interface TransportEvents {
  listener: ListenerEvent
  connection: ConnectionEvent
  stream: StreamEvent
}

const channels = eventChannels<TransportEvents>(
  'caduceus.transport',
  ['listener', 'connection', 'stream'],
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

/** Whether a status is a refusal: by the guard, for lack of authorization, for its size, or at a limit. */
export function isKeptOut(status: number): boolean {
  return status === 401 || status === 403 || status === 413 || status === 429 || status === 503
}

/** The address, if it is one: a proxy may pass on anything. */
export function addressOf(text: string | undefined): string | undefined {
  return text !== undefined && isAddress(text) ? text : undefined
}

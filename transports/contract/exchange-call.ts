import type { Envelope } from '../../protocol/stateless/envelope.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { ExchangeCall, Outlet, Peer } from './contract.js'
import { TransportError } from '../base/errors.js'

/** A request without a session, as transports pass it on; its signal is only made when it is asked for. */
export class TransportCall implements ExchangeCall {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  readonly outlet: Outlet
  readonly peer: Peer
  readonly mirrored: boolean
  #controller: AbortController | undefined
  #isAborted = false
  #onAbort: (() => void) | undefined

  constructor({ request, envelope, outlet, peer, mirrored }: Omit<ExchangeCall, 'signal' | 'onAbort'>) {
    this.request = request
    this.envelope = envelope
    this.outlet = outlet
    this.peer = peer
    this.mirrored = mirrored
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(gone())
    }
    return this.#controller.signal
  }

  onAbort(fn: (() => void) | undefined): void {
    this.#onAbort = fn
    if (this.#isAborted) fn?.()
  }

  abort(): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#controller?.abort(gone())
    this.#onAbort?.()
  }
}

function gone(): TransportError {
  return new TransportError('CONNECTION_LOST', 'the client has gone, or has cancelled the request')
}

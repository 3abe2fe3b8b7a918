import type { Envelope } from '../../protocol/stateless/envelope.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { TransportError } from '../base/errors.js'
import type { Peer, Response, Sink } from '../contract/contract.js'

export interface ExchangeAnswer {
  /** Undefined when it was cancelled: nothing is sent. */
  readonly response: Response | undefined
  /** Whether it was refused before a handler ran. */
  readonly refused: boolean
}

interface CallParts {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  readonly sink: Sink
  readonly peer: Peer
  readonly mirrored: boolean
}

/** One request of a revision without sessions; its signal is only made when it is asked for. */
export class ExchangeCall {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  /** Where its notifications go, before the answer. */
  readonly sink: Sink
  readonly peer: Peer
  /** Whether headers mirror parameters (HTTP): then `Mcp-Param-*` must agree with the body. */
  readonly mirrored: boolean
  #controller: AbortController | undefined
  #isAborted = false
  #onAbort: (() => void) | undefined

  constructor({ request, envelope, sink, peer, mirrored }: CallParts) {
    this.request = request
    this.envelope = envelope
    this.sink = sink
    this.peer = peer
    this.mirrored = mirrored
  }

  get isAborted(): boolean {
    return this.#isAborted
  }

  /** Aborted when the client is gone or has cancelled: nothing that is sent afterwards is written. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(gone())
    }
    return this.#controller.signal
  }

  /** Calls `fn` on abort or at once; another replaces, `undefined` removes it. Cheaper than `signal`. */
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

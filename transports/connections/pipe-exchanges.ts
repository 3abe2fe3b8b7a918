import type { Envelope } from '../../protocol/stateless/envelope.js'
import {
  buildNotification,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { ExchangeAnswer, Outlet, Peer, ServerPort } from '../contract/contract.js'
import { TransportCall } from '../contract/exchange-call.js'

interface PipeRequest {
  readonly request: JsonRpcRequest
  readonly envelope: Envelope
  readonly peer: Peer
  /** Called once at most: with the answer, or with nothing when the request was cancelled. */
  readonly settle: (response: Message | undefined) => void
}

/** The requests without a session of one connection, one per id at a time. The cancelled are not answered. */
export class PipeExchanges {
  readonly #send: Outlet['send']
  readonly #failed: (error: unknown, id: RequestId) => Message
  readonly #all = new TurnoverMap<RequestId, PipeCall>()

  /** `send` takes what comes before answers; `failed` makes the answer to an error. */
  constructor(send: Outlet['send'], failed: (error: unknown, id: RequestId) => Message) {
    this.#send = send
    this.#failed = failed
  }

  /** Has a request served; it is not waited for. */
  start(server: ServerPort, request: PipeRequest): void {
    const call = new PipeCall(request, this.#send)
    this.#all.set(request.request.id, call)
    const answered = server.exchange?.(call)
    answered?.then(
      (answer) => this.#answer(call, answer),
      (error) => {
        if (this.#leave(call)) call.settle(this.#failed(error, call.request.id))
      },
    )
  }

  /** Cancels what `notifications/cancelled` names; ignores what is unknown or over, and all else. */
  takeNotification(message: Message): void {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return
    const call = this.#all.get(message.params?.requestId as RequestId)
    if (call === undefined) return
    this.#leave(call)
    call.end()
    call.settle(undefined)
  }

  /** Ends all. Subscriptions are told so, since their streams have no other end. */
  abandon(): void {
    for (const call of this.#all.values()) {
      this.#leave(call)
      call.end()
      if (call.isListening) this.#sayEnd(call)
    }
  }

  #answer(call: PipeCall, { response, refused }: ExchangeAnswer): void {
    if (!this.#leave(call)) return
    call.settle(response)
    if (call.isListening && !refused && response !== undefined) this.#sayEnd(call)
  }

  /** One page of the specification asks for a result, another for this: both are sent, in this order. */
  #sayEnd({ request: { id } }: PipeCall): void {
    const params = { requestId: id, reason: 'the subscription has ended' }
    this.#send(buildNotification('notifications/cancelled', params))
  }

  #leave(call: PipeCall): boolean {
    const { id } = call.request
    return this.#all.get(id) === call && this.#all.delete(id)
  }
}

class PipeCall extends TransportCall {
  readonly settle: PipeRequest['settle']
  readonly #outlet: { isOpen: boolean }

  constructor({ request, envelope, peer, settle }: PipeRequest, send: Outlet['send']) {
    const outlet = { isOpen: true, send: (message: Message): boolean => outlet.isOpen && send(message) }
    super({ request, envelope, peer, outlet, mirrored: false })
    this.settle = settle
    this.#outlet = outlet
  }

  get isListening(): boolean {
    return this.request.method === 'subscriptions/listen'
  }

  end(): void {
    this.#outlet.isOpen = false
    this.abort()
  }
}

import type { JsonRpcRequest, Message, RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { waitWithin } from '../../../runtime/time/wait.js'
import type { Departure } from '../outgoing/dispatcher.js'

/** One request that waits for its answer, and how far it got. */
export interface HttpCall extends Departure {
  readonly request: JsonRpcRequest
  readonly controller: AbortController
  /** Whether the server has begun to answer. */
  answered: boolean
}

/** The requests of one session that wait for their answers. */
export class HttpCalls {
  readonly #all = new Map<RequestId, HttpCall>()
  #onChange: (() => void) | undefined

  begin(request: JsonRpcRequest, controller: AbortController): HttpCall {
    const call: HttpCall = { request, controller, left: false, begun: false, answered: false }
    this.#all.set(request.id, call)
    return call
  }

  /** The server has begun to answer it. */
  answered(call: HttpCall): void {
    call.answered = true
    this.#onChange?.()
  }

  end({ request }: HttpCall): void {
    this.#all.delete(request.id)
    this.#onChange?.()
  }

  abort(id: RequestId): void {
    this.#all.get(id)?.controller.abort()
  }

  /** Gives up what has not left, and returns it; a greeting is told by the end of its connection instead. */
  takeUnsent(): readonly HttpCall[] {
    const unsent = [...this.#all.values()].filter(
      ({ left, request }) => !left && request.method !== 'initialize' && request.method !== 'server/discover',
    )
    for (const { controller } of unsent) controller.abort()
    return unsent
  }

  /** Resolves once the server has begun to answer all that it was sent, at most `time` ms later. */
  async settled(time: number, clock: Clock): Promise<void> {
    if (!this.#isWaiting()) return
    await waitWithin<void>({ clock, ms: time, late: () => {} }, (resolve) => {
      this.#onChange = () => {
        if (!this.#isWaiting()) resolve()
      }
      return () => {
        this.#onChange = undefined
      }
    })
  }

  #isWaiting(): boolean {
    for (const { left, answered } of this.#all.values()) if (left && !answered) return true
    return false
  }
}

/** Messages that wait until the server is ready for them, or until they have waited long enough. */
export class HeldMessages {
  readonly #clock: Clock
  #waiting: { readonly message: Message; readonly send: () => void }[] | undefined
  #timer: unknown

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Sends now, or once what is held may go; in order. */
  pass(message: Message, send: () => void): void {
    if (this.#waiting === undefined) send()
    else this.#waiting.push({ message, send })
  }

  /** Holds what waits and what comes, from now for `time` ms at most; `late` is called when that is over. */
  hold(time: number, late?: () => void): void {
    this.#clock.clearTimeout(this.#timer)
    this.#waiting ??= []
    this.#timer = this.#clock.setTimeout(() => {
      late?.()
      this.release()
    }, time)
  }

  release(): void {
    for (const { send } of this.#take()) send()
  }

  /** Holds nothing any more, and returns what was held: it will not be sent. */
  drop(): readonly Message[] {
    return this.#take().map(({ message }) => message)
  }

  #take() {
    this.#clock.clearTimeout(this.#timer)
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    return waiting
  }
}

/** Whether a message ends the handshake. Without it a server refuses all that follows in the session. */
export function isInitialized(message: Message): boolean {
  return 'method' in message && message.method === 'notifications/initialized'
}

/** Whether the server waits for this, although it answers nothing: the end of the handshake, or an answer. */
export function isAwaited(message: Message): boolean {
  return isInitialized(message) || !('method' in message)
}

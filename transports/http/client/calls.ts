import type { JsonRpcRequest, RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'
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

  /**
   * Gives up what has not left yet, and answers it; how a handshake goes is told by the end of its
   * connection.
   */
  takeUnsent(): readonly HttpCall[] {
    const unsent = [...this.#all.values()].filter(
      ({ left, request }) => !left && !greetings.has(request.method),
    )
    for (const { controller } of unsent) controller.abort()
    return unsent
  }

  /** Resolves once the server has begun to answer all that it was sent, at most `time` ms later. */
  async settled(time: number, clock: Clock): Promise<void> {
    if (!this.#waits()) return
    await new Promise<void>((resolve) => {
      const timer = clock.setTimeout(resolve, time)
      this.#onChange = () => {
        if (this.#waits()) return
        clock.clearTimeout(timer)
        resolve()
      }
    })
    this.#onChange = undefined
  }

  #waits(): boolean {
    for (const { left, answered } of this.#all.values()) if (left && !answered) return true
    return false
  }
}

const greetings: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

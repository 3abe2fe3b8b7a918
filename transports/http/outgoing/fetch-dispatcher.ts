import type { Controller, DispatchedRequest, DispatchHandler, Dispatching } from './exchange.js'

/**
 * Sends requests by the `fetch` of the host, which has the connections: how many there are, and how long one
 * may take to be made, is its business. Redirects are answered as they are.
 */
export class FetchDispatcher implements Dispatching {
  readonly #open = new Set<FetchExchange>()

  dispatch(request: DispatchedRequest, handler: DispatchHandler): void {
    const exchange = new FetchExchange(handler)
    this.#open.add(exchange)
    void exchange.run(request).finally(() => this.#open.delete(exchange))
  }

  async destroy(): Promise<void> {
    for (const exchange of this.#open) exchange.abort(new Error('the connections were closed'))
  }
}

/** One exchange, told as undici would tell it. */
class FetchExchange implements Controller {
  readonly #handler: DispatchHandler
  readonly #given = new AbortController()
  #isPaused = false
  #resume: (() => void) | undefined

  constructor(handler: DispatchHandler) {
    this.#handler = handler
  }

  abort(reason: Error): void {
    this.#given.abort(reason)
    this.resume()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#resume?.()
    this.#resume = undefined
  }

  /** Never rejects. */
  async run({ method, origin, path, headers, body }: DispatchedRequest): Promise<void> {
    const handler = this.#handler
    const { signal } = this.#given
    try {
      handler.onRequestStart(this)
      signal.throwIfAborted()
      const response = await fetch(origin + path, { method, headers, body, signal, redirect: 'manual' })
      handler.onResponseStart(this, response.status, Object.fromEntries(response.headers))
      await this.#read(response)
      handler.onResponseEnd()
    } catch (cause) {
      handler.onResponseError(this, errorOf(signal.aborted ? signal.reason : cause))
    }
  }

  async #read({ body }: Response): Promise<void> {
    const reader = body?.getReader()
    while (reader !== undefined) {
      if (this.#isPaused) await this.#room()
      this.#given.signal.throwIfAborted()
      const { done, value } = await reader.read()
      if (done) return
      this.#handler.onResponseData(this, Buffer.from(value.buffer, value.byteOffset, value.length))
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve
    })
  }
}

/** `fetch` says only that it failed; hosts that know why say so in the cause. */
function errorOf(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error('fetch failed', { cause: thrown })
  return thrown instanceof TypeError && thrown.cause instanceof Error ? thrown.cause : thrown
}

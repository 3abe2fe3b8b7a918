import { getEventListeners } from 'node:events'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Undo } from '../base/state.js'

interface Source {
  onNotification(method: string, fn: (params: JsonObject) => void): Undo
}

interface Hearing {
  readonly undo: Undo
  /** Aborts with the last listener. */
  readonly end: AbortController
  readonly signals: WeakSet<AbortSignal>
}

/**
 * A client's notifications as DOM events: the type is the method, and `detail` has the params. It listens to
 * the client only while it has listeners (`removeEventListener`, `once` and `signal` count), until disposed.
 */
export class NotificationTarget extends EventTarget implements Disposable {
  readonly #source: Source
  readonly #heard = new Map<string, Hearing>()

  constructor(client: Source) {
    super()
    this.#source = client
  }

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    const [type, , options] = args
    super.addEventListener(...args)
    const hearing = this.#follow(type)
    const signal = typeof options === 'object' ? options.signal : undefined
    if (hearing === undefined || !signal || hearing.signals.has(signal)) return
    hearing.signals.add(signal)
    signal.addEventListener('abort', () => void this.#follow(type), {
      once: true,
      signal: hearing.end.signal,
    })
  }

  override removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void {
    super.removeEventListener(...args)
    this.#follow(args[0])
  }

  override dispatchEvent(event: Event): boolean {
    const goesOn = super.dispatchEvent(event)
    this.#follow(event.type) // a listener with `once` may be gone
    return goesOn
  }

  [Symbol.dispose](): void {
    for (const type of [...this.#heard.keys()]) this.#end(type)
  }

  #follow(type: string): Hearing | undefined {
    const known = this.#heard.get(type)
    if (getEventListeners(this, type).length === 0) return void this.#end(type)
    if (known !== undefined) return known
    const undo = this.#source.onNotification(type, (detail) => {
      this.dispatchEvent(new CustomEvent(type, { detail }))
    })
    const hearing = { undo, end: new AbortController(), signals: new WeakSet<AbortSignal>() }
    this.#heard.set(type, hearing)
    return hearing
  }

  #end(type: string): void {
    const hearing = this.#heard.get(type)
    this.#heard.delete(type)
    hearing?.undo()
    hearing?.end.abort()
  }
}

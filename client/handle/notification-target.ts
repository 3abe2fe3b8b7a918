import { getEventListeners } from 'node:events'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Undo } from '../base/state.js'

/** A client, as far as it is used here. */
interface Source {
  onNotification(method: string, fn: (params: JsonObject) => void): Undo
}

/** A method that has listeners. */
interface Hearing {
  readonly undo: Undo
  /** Aborts when the last listener is gone; it ends the listeners on signals. */
  readonly end: AbortController
  readonly signals: WeakSet<AbortSignal>
}

/**
 * The notifications of a client as events of the web platform: the type is the method, and `detail` of the
 * `CustomEvent` has the params. It listens to a method of the client only while it has listeners for it
 * itself (`removeEventListener`, `once` and `signal` count), and to none once it is disposed of.
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

  /** Listens to the client as long as there are listeners here. */
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

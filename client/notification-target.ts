import type { JsonObject } from '../protocol/json.js'
import type { Undo } from './holdings.js'

/** Whose notifications become events. */
interface Source {
  onNotification(method: string, fn: (params: JsonObject) => void): Undo
}

/**
 * The notifications of a client as events of the web platform: the type is the method, and a `CustomEvent` has the params as `detail`. Listens only to what
 * somebody listens to here, and to nothing any more once it is disposed of.
 */
export class NotificationTarget extends EventTarget implements Disposable {
  readonly #source: Source
  readonly #undos = new Map<string, Undo>()

  constructor(client: Source) {
    super()
    this.#source = client
  }

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    const [type] = args
    const tell = (params: JsonObject): void => this.#tell(type, params)
    if (!this.#undos.has(type)) this.#undos.set(type, this.#source.onNotification(type, tell))
    super.addEventListener(...args)
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undos.values()) undo()
    this.#undos.clear()
  }

  #tell(type: string, detail: JsonObject): void {
    this.dispatchEvent(new CustomEvent(type, { detail }))
  }
}

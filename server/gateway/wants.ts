/** Resources that a server is asked about at a time: the connections of its client are for calls. */
const atOnce = 8

interface WantsInput {
  /** Asks for changes of a resource, or for no more of them, as it is wanted at that moment. Never rejects. */
  readonly tell: (uri: string) => Promise<void>
}

/**
 * Which resources a server has to be told of, that they are wanted or are no more: some at a time, callers in
 * turn.
 */
export class Wants {
  readonly #tell: WantsInput['tell']
  /** By caller: the next one is first. */
  readonly #waiting = new Map<string, Set<string>>()
  /** Under way, and who has changed it meanwhile. */
  readonly #telling = new Map<string, string | undefined>()

  constructor({ tell }: WantsInput) {
    this.#tell = tell
  }

  /** What is wanted of a resource has changed, or may have been forgotten. */
  changed(uri: string, caller: string): void {
    if (this.#telling.has(uri)) return void this.#telling.set(uri, caller)
    const own = this.#waiting.get(caller)
    if (own === undefined) this.#waiting.set(caller, new Set([uri]))
    else own.add(uri)
    this.#go()
  }

  end(): void {
    this.#waiting.clear()
  }

  #go(): void {
    for (const [caller, uris] of this.#waiting) {
      if (this.#telling.size >= atOnce) return
      this.#waiting.delete(caller)
      for (const uri of uris) {
        uris.delete(uri)
        this.#begin(uri)
        break
      }
      // behind the others
      if (uris.size > 0) this.#waiting.set(caller, uris)
    }
  }

  #begin(uri: string): void {
    this.#telling.set(uri, undefined)
    void this.#tell(uri).then(() => {
      const caller = this.#telling.get(uri)
      this.#telling.delete(uri)
      if (caller === undefined) this.#go()
      else this.changed(uri, caller)
    })
  }
}

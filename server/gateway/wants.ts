import { outside } from '../../runtime/faults/containment.js'

/** Resources that a server is asked about at a time, for one caller and for all: its connections are for calls. */
const ofOne = 4
const atOnce = 64

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
  readonly #telling = new Map<string, { next: string | undefined }>()
  /** How many are under way for each caller: one whose resources are slow waits for them alone. */
  readonly #counts = new Map<string, number>()

  constructor({ tell }: WantsInput) {
    this.#tell = tell
  }

  /** What is wanted of a resource has changed, or may have been forgotten. */
  changed(uri: string, caller: string): void {
    // whoever wants it may end before it is told
    outside(() => this.#changed(uri, caller))
  }

  #changed(uri: string, caller: string): void {
    const telling = this.#telling.get(uri)
    if (telling !== undefined) {
      telling.next = caller
      return
    }
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
      if (this.#count(caller) >= ofOne) continue
      this.#waiting.delete(caller)
      for (const uri of uris) {
        uris.delete(uri)
        this.#begin(uri, caller)
        break
      }
      // behind the others
      if (uris.size > 0) this.#waiting.set(caller, uris)
    }
  }

  #count(caller: string): number {
    return this.#counts.get(caller) ?? 0
  }

  #begin(uri: string, caller: string): void {
    const telling = { next: undefined as string | undefined }
    this.#telling.set(uri, telling)
    this.#counts.set(caller, this.#count(caller) + 1)
    void this.#tell(uri).then(() => {
      this.#telling.delete(uri)
      const left = this.#count(caller) - 1
      if (left === 0) this.#counts.delete(caller)
      else this.#counts.set(caller, left)
      if (telling.next === undefined) this.#go()
      else this.#changed(uri, telling.next)
    })
  }
}

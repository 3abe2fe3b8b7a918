import { createHash, type Hash } from 'node:crypto'

/** What happened, line by line, as a digest; `tell` gets each line. */
export class Trace {
  readonly #hash: Hash = createHash('sha256')
  readonly #tell: ((line: string) => void) | undefined
  #pending = ''
  #ended = false
  lines = 0

  constructor(tell?: (line: string) => void) {
    this.#tell = tell
  }

  note(at: number, who: string, what: string): void {
    if (this.#ended) return
    const line = `${at.toFixed(3)} ${who}: ${what}`
    this.lines += 1
    this.#tell?.(line)
    this.#pending += `${line}\n`
    if (this.#pending.length > 65_536) this.#flush()
  }

  /** The digest of all lines; later ones are ignored. */
  end(): string {
    this.#ended = true
    this.#flush()
    return this.#hash.copy().digest('hex')
  }

  #flush(): void {
    this.#hash.update(this.#pending)
    this.#pending = ''
  }
}

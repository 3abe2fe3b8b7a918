import { createHash } from 'node:crypto'

const digestBytes = 32

/** Files of one kind: a mark, the digest of what follows, and that. A file that is torn or damaged is none. */
export class FramedFiles {
  readonly #mark: Buffer
  readonly #ending: string

  /** What files begin with, and what their names end with. */
  constructor(mark: string, ending: string) {
    this.#mark = Buffer.from(`${mark}\n`)
    this.#ending = ending
  }

  frame(payload: Buffer): Buffer {
    return Buffer.concat([this.#mark, digest(payload), payload])
  }

  /** What was framed; undefined for anything else. */
  open(bytes: Buffer): Buffer | undefined {
    const start = this.#mark.length + digestBytes
    if (!bytes.subarray(0, this.#mark.length).equals(this.#mark)) return undefined
    const payload = bytes.subarray(start)
    return digest(payload).equals(bytes.subarray(this.#mark.length, start)) ? payload : undefined
  }

  /** The name of a file: a digest, since ids come from clients, and who knows one may have what it names. */
  nameOf(id: string): string {
    return `${createHash('sha256').update(id).digest('hex')}.${this.#ending}`
  }

  isName(name: string): boolean {
    return /^[0-9a-f]{64}$/.test(name.slice(0, -this.#ending.length - 1)) && name.endsWith(`.${this.#ending}`)
  }
}

function digest(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest()
}

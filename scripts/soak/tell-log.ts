import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import type { Told } from './audit.js'

const mostInMemory = 1_000

/** Keeps what clients were told in a file: hours of it would weigh on the heap that is being measured. */
export class TellLog {
  readonly #path: string
  #lines: string[] = []

  constructor(path: string) {
    this.#path = path
    writeFileSync(path, '')
  }

  add({ token, code, sent, most }: Told): void {
    this.#lines.push(`${token} ${code} ${sent} ${most}`)
    if (this.#lines.length >= mostInMemory) this.#flush()
  }

  /** All of it, in order. */
  read(): Told[] {
    this.#flush()
    const lines = readFileSync(this.#path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => {
      const [token = '', code = '', sent, most] = line.split(' ')
      return { token, code, sent: sent === 'true', most: Number(most) }
    })
  }

  #flush(): void {
    if (this.#lines.length > 0) appendFileSync(this.#path, `${this.#lines.join('\n')}\n`)
    this.#lines = []
  }
}

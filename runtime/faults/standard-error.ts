import { AsyncResource } from 'node:async_hooks'
import { fstatSync, writeSync } from 'node:fs'
import { isMain } from '../base/threads.js'

const descriptor = 2
/** Bytes that are kept for a reader who is slower; a line that has begun is kept whole. */
const maxKept = 256 * 1024
/** Ms until what is kept is tried again. */
const retryTime = 50
/** Ms that a reader has at the end of the program, and for what is printed. */
const patience = 1_000

/** Says that so many lines are missing. */
type SaysDropped = (count: number) => string

/**
 * Has writes to a pipe or socket that is full fail, where they would stop the thread: Node's own stream sees
 * to that when it is made, for all threads, and gives back what it has changed when the program ends. Files,
 * terminals and threads, which have no such stream, are left as they are.
 */
export function unblockStandardError(): void {
  if (!isMain()) return
  try {
    const found = fstatSync(descriptor)
    if (found.isFIFO() || found.isSocket()) void process.stderr
  } catch {
    // standard error is closed
  }
}

/** Writes lines to standard error, for all trees of this thread. Whoever does not read it stops nobody. */
class StandardError {
  #kept: Buffer[] = []
  #bytes = 0
  #dropped = 0
  #told: SaysDropped = inWords
  #timer: NodeJS.Timeout | undefined
  #isTaken = false
  /** Nobody has read for as long as somebody was waited for. */
  #isUnread = false

  /** Writes as much as there is room for. Of lines that are dropped, `told` says the number once there is. */
  write(line: string | Buffer, told: SaysDropped = inWords): void {
    if (!this.#isTaken) unblockStandardError()
    this.#isTaken = true
    this.#flush()
    const text = this.#dropped === 0 ? line : `${this.#told(this.#dropped)}${line}`
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    // one that nothing is before is kept at any length
    if (this.#bytes > 0 && this.#bytes + bytes.length > maxKept) {
      this.#dropped += 1
      this.#told = told
      return
    }
    this.#dropped = 0
    this.#keep(bytes)
    this.#flush()
  }

  /** Writes at once: waits up to a second for a reader who is slower, but not again for one who does not read. */
  print(text: string | Buffer): void {
    this.write(text)
    if (!this.#isUnread) this.#settle()
  }

  readonly #settle = (): void => {
    const until = performance.now() + patience
    this.#flush()
    while (this.#bytes > 0 && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
      this.#flush()
    }
    this.#isUnread = this.#bytes > 0
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#kept.push(bytes)
    this.#bytes += bytes.length
  }

  #flush(): void {
    try {
      for (let next = this.#kept[0]; next !== undefined; next = this.#kept[0]) {
        const count = writeSync(descriptor, next)
        this.#bytes -= count
        this.#isUnread = false
        if (count === next.length) this.#kept.shift()
        else this.#kept[0] = next.subarray(count)
        if (this.#bytes === 0 && this.#dropped > 0) this.#tell()
      }
    } catch (error) {
      // closed: nobody will read any of it
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') this.#forget()
    }
    this.#retry()
  }

  #tell(): void {
    const text = this.#told(this.#dropped)
    this.#dropped = 0
    this.#keep(Buffer.from(text))
  }

  #forget(): void {
    this.#kept = []
    this.#bytes = 0
    this.#dropped = 0
  }

  /** What is kept holds no program, and has its time when that ends. */
  #retry(): void {
    if (this.#bytes > 0 && this.#timer === undefined) {
      this.#timer = this.#startTimer()
      process.once('exit', this.#settle)
    } else if (this.#bytes === 0 && this.#timer !== undefined) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      process.off('exit', this.#settle)
    }
  }

  readonly #again = (): void => {
    this.#timer?.refresh()
    this.#flush()
  }

  /** In no scope: it is not of the one who happened to write. */
  readonly #startTimer = AsyncResource.bind(() => setTimeout(this.#again, retryTime).unref())
}

export const standardError = new StandardError()

function inWords(count: number): string {
  return `caduceus: ${count} lines are left out here, as standard error was not read\n`
}

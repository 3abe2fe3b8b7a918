import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import type { AuditEntry } from 'caduceus/server'
import { ifThere } from '../../runtime/base/files.js'
import { steadyJson } from '../../runtime/base/steering.js'

/** Where entries go, and how much of them is kept. */
export interface AuditFileOptions {
  readonly file: string
  /** Bytes after which another file is begun. */
  readonly maxBytes: number
  /** Former files that are kept: `FILE.1` is the newest. */
  readonly maxFiles: number
  /** Whether a line is on the disk before it counts, and not with the system alone. */
  readonly sync: boolean
}

/** Lines that wait while a disk is slow. */
const maxWaiting = 10_000

interface Waiting {
  readonly line: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Appended to, made for its owner alone; a pipe that nobody reads is not waited for. */
const how = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0)

/**
 * An audit log: a line of JSON for each entry. A line counts once the system has it, so that no end of this
 * program takes it away; what comes meanwhile is written together.
 */
export class AuditFile {
  readonly #options: AuditFileOptions
  #waiting: Waiting[] = []
  #isWriting = false
  #file: FileHandle | undefined
  #facts: Pick<Stats, 'ino' | 'dev'> | undefined
  #bytes = 0
  /** Whether the last line may be without its end. */
  #isTorn = false

  constructor(options: AuditFileOptions) {
    this.#options = options
  }

  /** Opens it, so that a wrong path is told at the start. Rejects with the error of the system. */
  async open(): Promise<void> {
    await this.#opened()
  }

  /** Resolves once the line is in the file. Rejects where it is not. */
  readonly write = (entry: AuditEntry): Promise<void> =>
    new Promise((resolve, reject) => {
      if (this.#waiting.length >= maxWaiting) throw new Error(`${maxWaiting} lines wait to be written`)
      this.#waiting.push({ line: lineOf(entry), resolve, reject })
      if (!this.#isWriting) void this.#go()
    })

  async close(): Promise<void> {
    await this.#closeFile()
  }

  async #go(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        await this.#append(batch.map(({ line }) => line).join(''))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        await this.#closeFile().catch(() => {})
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isWriting = false
  }

  async #append(lines: string): Promise<void> {
    let file = await this.#opened()
    const bytes = Buffer.byteLength(lines)
    if (this.#bytes > 0 && this.#bytes + bytes > this.#options.maxBytes) {
      await this.#rotate()
      file = await this.#opened()
    }
    // what is left of a line that could not be written whole stays a line of its own
    const text = Buffer.from(this.#isTorn ? `\n${lines}` : lines)
    this.#isTorn = true
    await file.appendFile(text)
    if (this.#options.sync) await file.datasync()
    this.#isTorn = false
    this.#bytes += text.length
  }

  /** The file at the path: another one, where it was moved away (logrotate). */
  async #opened(): Promise<FileHandle> {
    const { file: path } = this.#options
    const now = await ifThere(() => stat(path))
    const isSame = now !== undefined && now.ino === this.#facts?.ino && now.dev === this.#facts.dev
    if (this.#file !== undefined && isSame) return this.#file
    await this.#closeFile()
    const file = await open(path, how, 0o600)
    try {
      const facts = await file.stat()
      if (!facts.isFile()) throw new Error(`${path} is no file`)
      this.#isTorn ||= facts.size > 0 && !(await endsLine(path, facts.size))
      this.#facts = facts
      this.#bytes = facts.size
      this.#file = file
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** `FILE` becomes `FILE.1`, that `FILE.2` and so on; the oldest goes. */
  async #rotate(): Promise<void> {
    const { file, maxFiles } = this.#options
    await this.#closeFile()
    for (let at = maxFiles; at > 0; at -= 1) {
      const from = at === 1 ? file : `${file}.${at - 1}`
      await ifThere(() => rename(from, `${file}.${at}`))
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }
}

/** Whether a file, which another program may have been writing when it was killed, ends with a line. */
async function endsLine(path: string, size: number): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
    return buffer[0] === 0x0a
  } finally {
    await file.close()
  }
}

/** One line, whatever is in it. */
export function lineOf(entry: AuditEntry): string {
  return `${steadyJson(JSON.stringify(entry))}\n`
}

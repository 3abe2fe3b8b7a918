import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isTemporary, readIfThere, replaceFile, timeOf, unlinkIfThere } from '../../runtime/base/files.js'
import { ServerError } from '../base/errors.js'
import { type FileStoreOptions, readFileStoreOptions } from './file-store-options.js'
import { decodeRecord, encodeRecord, fileNameOf, isFileName } from './file-store-record.js'
import type { SessionRecord, SessionStore } from './session-store.js'

/** Temporary files that were not touched for this many ms belong to a program that was killed. */
const abandoned = 60_000
/** Files that are looked at together. */
const batch = 32

/**
 * A store for one machine: one file per session (mode 0600), exchanged in one step, so that a program killed
 * at any moment leaves the old record or the new one, and the next program goes on with it. Throws
 * BAD_OPTION, also when the folder cannot be made or written.
 */
export function createFileStore(options: FileStoreOptions): SessionStore {
  return new FileStore(readFileStoreOptions(options))
}

/** What is known of a file without reading it. */
interface Kept {
  /** When it was saved, in ms since 1970; later than that for what has to be kept longer. */
  readonly at: number
  /** Undefined for what an earlier or another program has saved. */
  readonly version: number | undefined
}

/** A save that waits for its turn: those that come meanwhile join it, and the newest record is written. */
interface Waiting {
  record: SessionRecord
  readonly done: Promise<void>
}

class FileStore implements SessionStore {
  readonly shared: boolean
  readonly #options: Required<FileStoreOptions>
  /** By file name, in the order of saving, so that the first is the next to go. */
  #kept = new Map<string, Kept>()
  /** What is done with a file at the moment: one thing at a time. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #waiting = new Map<string, Waiting>()
  #firstListing: Promise<void> | undefined
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(options: Required<FileStoreOptions>) {
    this.#options = options
    this.shared = options.shared
  }

  load(id: string): Promise<SessionRecord | undefined> {
    const name = fileNameOf(id)
    return this.#inTurn(name, () => this.#read(name))
  }

  async save(record: SessionRecord): Promise<void> {
    await this.#put(record)
    await this.#keepBound()
  }

  delete(id: string): Promise<void> {
    const name = fileNameOf(id)
    return this.#inTurn(name, () => this.#remove(name))
  }

  #put(record: SessionRecord): Promise<void> {
    const name = fileNameOf(record.id)
    const joined = this.#waiting.get(name)
    if (joined !== undefined) {
      if (record.version >= joined.record.version) joined.record = record
      return joined.done
    }
    const waiting: Waiting = {
      record,
      done: this.#inTurn(name, async () => {
        this.#waiting.delete(name)
        await this.#list()
        await this.#write(name, waiting.record)
      }),
    }
    this.#waiting.set(name, waiting)
    return waiting.done
  }

  /** Never at once, so that whoever asks is known before its turn begins. */
  #inTurn<Answer>(name: string, work: () => Promise<Answer>): Promise<Answer> {
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work)
    const over: Promise<void> = turn
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#turns.get(name) === over) this.#turns.delete(name)
      })
    this.#turns.set(name, over)
    return turn
  }

  async #read(name: string): Promise<SessionRecord | undefined> {
    const { folder, idleTimeout, now } = this.#options
    const found = await readIfThere(join(folder, name))
    if (found === undefined || found.at <= now() - idleTimeout) return undefined
    const record = decodeRecord(found.bytes)
    if (record === undefined || fileNameOf(record.id) !== name) return undefined
    this.#kept.set(name, { at: found.at, version: record.version })
    return record
  }

  async #write(name: string, record: SessionRecord): Promise<void> {
    const { folder, idleTimeout, maxBytes, durable, now } = this.#options
    if (await this.#isOutdated(name, record)) return
    const bytes = encodeRecord(record)
    if (bytes.length > maxBytes) {
      const problem = `the state of a session: expected at most ${maxBytes} bytes, got ${bytes.length}`
      throw new ServerError('BAD_STATE', problem)
    }
    const { ended = false, expiresAt = 0 } = record
    const at = ended ? Math.max(now(), expiresAt - idleTimeout) : now()
    await replaceFile(folder, name, bytes, { at, durable })
    this.#kept.delete(name)
    this.#kept.set(name, { at, version: record.version })
  }

  async #isOutdated(name: string, record: SessionRecord): Promise<boolean> {
    const kept = this.#kept.get(name)
    if (kept === undefined && !this.shared) return false
    // what another program has saved is known only by reading it
    const known = this.shared ? undefined : kept?.version
    const version = known ?? (await this.#read(name))?.version
    return version !== undefined && version > record.version
  }

  async #remove(name: string): Promise<void> {
    this.#kept.delete(name)
    await unlinkIfThere(join(this.#options.folder, name))
  }

  async #keepBound(): Promise<void> {
    const { maxSessions } = this.#options
    for (const [name] of this.#kept) {
      if (this.#kept.size <= maxSessions) return
      this.#kept.delete(name)
      // unless it is saved again before its turn comes
      await this.#inTurn(name, async () => {
        if (!this.#kept.has(name)) await this.#remove(name)
      })
    }
  }

  /**
   * The first save waits until it is known what earlier programs left; after that the folder is listed now
   * and then, beside.
   */
  async #list(): Promise<void> {
    const { idleTimeout, now } = this.#options
    if (now() - this.#listedAt > idleTimeout / 10) {
      this.#listedAt = now()
      const listing = this.#look().catch(() => {
        // a folder that cannot be listed now is listed with the next save
        this.#listedAt = Number.NEGATIVE_INFINITY
        this.#firstListing = undefined
      })
      this.#firstListing ??= listing
    }
    await this.#firstListing
  }

  async #look(): Promise<void> {
    const { folder, idleTimeout, now } = this.#options
    const begun = now()
    const found = new Map<string, Kept>()
    const names = await readdir(folder)
    for (let start = 0; start < names.length; start += batch) {
      const looks = names.slice(start, start + batch).map(async (name) => {
        const at = await timeOf(join(folder, name))
        if (at === undefined) return
        if (isFileName(name)) found.set(name, { at, version: undefined })
        else if (isTemporary(name) && at < begun - abandoned)
          await unlinkIfThere(join(folder, name)).catch(() => {}) // what cannot be removed costs no listing
      })
      await Promise.all(looks)
    }
    for (const [name, kept] of this.#kept) {
      const seen = found.get(name)
      // saved while the folder was listed, or known better than by a look
      if (seen === undefined ? kept.at >= begun : kept.at >= Math.floor(seen.at)) found.set(name, kept)
    }
    this.#kept = new Map([...found].sort(([, a], [, b]) => a.at - b.at))
    for (const [name, { at }] of this.#kept) if (at <= begun - idleTimeout) this.#forget(name)
  }

  /** In a turn of its own, that nobody waits for: it may have been saved again before. */
  #forget(name: string): void {
    const { idleTimeout, now } = this.#options
    this.#inTurn(name, async () => {
      const kept = this.#kept.get(name)
      if (kept !== undefined && kept.at <= now() - idleTimeout) await this.#remove(name)
    }).catch(() => {}) // tried again with the next listing
  }
}

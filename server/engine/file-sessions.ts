import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  isTemporary,
  readIfThere,
  renameIfThere,
  replaceFile,
  timeOf,
  unlinkIfThere,
} from '../../runtime/base/files.js'
import type { World } from '../../runtime/time/world.js'
import { Turns } from '../base/turns.js'
import { decodeRecord, encodeWithin, sessionFiles } from './session-file.js'
import type { SessionLimits, SessionRecord, SessionStore } from './session-store.js'

export interface FileSessionsOptions extends SessionLimits {
  /** It holds nothing but these sessions. */
  readonly folder: string
  /** Bytes of one session; a larger one is refused with BAD_STATE, which fails the request. */
  readonly maxBytes: number
  /** Whether a save waits for the disk (fsync). */
  readonly durable: boolean
}

/** Milliseconds without a change after which a temporary file belongs to a program that was killed. */
const abandoned = 60_000
/** What is added to the name of a file that cannot be read. */
const damaged = '.damaged'
/** What stands where a file should be, which nobody here has written. */
const noFile: ReadonlySet<string> = new Set(['EFTYPE', 'EISDIR', 'ELOOP', 'ENXIO'])
/** Files whose times are read together. */
const batch = 32

interface SavedFile {
  /** When it was saved, in ms since 1970. */
  readonly at: number
  /** Undefined for a file of an earlier program. */
  readonly version: number | undefined
}

/** A save that waits for its turn. Later saves join it, and the newest record is written. */
interface Waiting {
  record: SessionRecord
  readonly done: Promise<void>
}

/**
 * Sessions in files (mode 0600), one each, replaced in one step: a kill at any moment leaves the old record or
 * the new one.
 */
export class FileSessions implements SessionStore {
  readonly #options: FileSessionsOptions
  readonly #world: World
  /** By file name, in the order of saving: the first is the next to be dropped. */
  #kept = new Map<string, SavedFile>()
  /** Operations on one file run one after the other. */
  readonly #turns = new Turns()
  readonly #waiting = new Map<string, Waiting>()
  #firstListing: Promise<void> | undefined
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(options: FileSessionsOptions, world: World) {
    this.#options = options
    this.#world = world
  }

  load(id: string): Promise<SessionRecord | undefined> {
    const name = sessionFiles.nameOf(id)
    return this.#turns.take(name, () => this.#read(name))
  }

  async save(record: SessionRecord): Promise<void> {
    await this.#put(record)
    await this.#keepBound()
  }

  check(record: SessionRecord): void {
    encodeWithin(record, this.#options.maxBytes)
  }

  delete(id: string): Promise<void> {
    const name = sessionFiles.nameOf(id)
    return this.#turns.take(name, () => this.#remove(name))
  }

  #put(record: SessionRecord): Promise<void> {
    const name = sessionFiles.nameOf(record.id)
    const joined = this.#waiting.get(name)
    if (joined !== undefined) {
      if (record.version >= joined.record.version) joined.record = record
      return joined.done
    }
    const waiting: Waiting = {
      record,
      done: this.#turns.take(name, async () => {
        this.#waiting.delete(name)
        await this.#list()
        await this.#write(name, waiting.record)
      }),
    }
    this.#waiting.set(name, waiting)
    return waiting.done
  }

  async #read(name: string): Promise<SessionRecord | undefined> {
    const { folder, idleTimeout } = this.#options
    const found = await readIfThere(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (!noFile.has(String(error.code))) throw error
      return 'no file' as const
    })
    if (found === 'no file') return this.#setAside(name)
    if (found === undefined || found.at <= this.#world.date() - idleTimeout) return undefined
    const record = decodeRecord(found.bytes)
    if (record === undefined || sessionFiles.nameOf(record.id) !== name) return this.#setAside(name)
    this.#kept.set(name, { at: found.at, version: record.version })
    return record
  }

  /** Told once: the next time there is no such file. */
  async #setAside(name: string): Promise<undefined> {
    const path = join(this.#options.folder, name)
    this.#kept.delete(name)
    await renameIfThere(path, `${path}${damaged}`)
    process.emitWarning(
      `the file of a session is damaged, and its client has to open another: it is kept for a while as ${path}${damaged}`,
      { code: 'CADUCEUS_DAMAGED_SESSION' },
    )
  }

  async #write(name: string, record: SessionRecord): Promise<void> {
    const { folder, durable, maxBytes } = this.#options
    const version =
      this.#kept.get(name)?.version ?? (this.#kept.has(name) ? (await this.#read(name))?.version : undefined)
    if (version !== undefined && version > record.version) return
    const bytes = encodeWithin(record, maxBytes)
    const at = this.#world.date()
    await replaceFile(folder, name, bytes, { at, durable, id: this.#world.id })
    this.#kept.delete(name)
    this.#kept.set(name, { at, version: record.version })
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
      // it may be saved again before this turn comes
      await this.#turns.take(name, async () => {
        if (!this.#kept.has(name)) await this.#remove(name)
      })
    }
  }

  /** The first save waits for a list of what earlier programs left; later lists are made beside the saves. */
  async #list(): Promise<void> {
    const now = this.#world.date()
    if (now - this.#listedAt > this.#options.idleTimeout / 10) {
      this.#listedAt = now
      const listing = this.#look().catch(() => {
        // tried again with the next save
        this.#listedAt = Number.NEGATIVE_INFINITY
        this.#firstListing = undefined
      })
      this.#firstListing ??= listing
    }
    await this.#firstListing
  }

  async #look(): Promise<void> {
    const { folder, idleTimeout } = this.#options
    const begun = this.#world.date()
    const found = new Map<string, SavedFile>()
    const names = await readdir(folder)
    for (let start = 0; start < names.length; start += batch) {
      const looks = names.slice(start, start + batch).map(async (name) => {
        const at = await timeOf(join(folder, name))
        if (at === undefined) return
        if (sessionFiles.isName(name)) found.set(name, { at, version: undefined })
        else if (at < begun - (isTemporary(name) ? abandoned : isSetAside(name) ? idleTimeout : Infinity))
          await unlinkIfThere(join(folder, name)).catch(() => {}) // tried again with the next listing
      })
      await Promise.all(looks)
    }
    for (const [name, kept] of this.#kept) {
      const seen = found.get(name)
      // it was saved while the folder was listed: what is known is newer than what was seen
      if (seen === undefined ? kept.at >= begun : kept.at >= Math.floor(seen.at)) found.set(name, kept)
    }
    this.#kept = new Map([...found].sort(([, a], [, b]) => a.at - b.at))
    for (const [name, { at }] of this.#kept) if (at <= begun - idleTimeout) this.#forget(name)
  }

  /** Removes an old file in a turn of its own, unless it was saved again before. Nobody waits for it. */
  #forget(name: string): void {
    const { idleTimeout } = this.#options
    this.#turns
      .take(name, async () => {
        const kept = this.#kept.get(name)
        if (kept !== undefined && kept.at <= this.#world.date() - idleTimeout) await this.#remove(name)
      })
      .catch(() => {}) // tried again with the next listing
  }
}

function isSetAside(name: string): boolean {
  return name.endsWith(damaged) && sessionFiles.isName(name.slice(0, -damaged.length))
}

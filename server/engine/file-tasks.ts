import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isTemporary, readIfThere, replaceFile, timeOf, unlinkIfThere } from '../../runtime/base/files.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { World } from '../../runtime/time/world.js'
import { isTaskRecord, type TaskRecord, type TaskStore } from './task-store.js'

const magic = Buffer.from('caduceus task 1\n')
const digestBytes = 32
/** Milliseconds without a change after which a temporary file belongs to a program that was killed. */
const abandoned = 60_000
/** What is wrong with one entry of a folder, and not with all. */
const unreadable: ReadonlySet<string> = new Set(['EACCES', 'EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EPERM'])

/**
 * Tasks in files (mode 0600), one each, replaced in one step: a kill at any moment leaves the old record or the
 * new one. A file that is damaged is left where it is, and warned of.
 */
export class FileTasks implements TaskStore {
  readonly durable = true
  readonly #folder: string
  readonly #waitsForDisk: boolean
  readonly #world: World
  /** The last operation on each file: operations on one file run one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()

  /** `waitsForDisk`: whether a save does (fsync). */
  constructor(folder: string, waitsForDisk: boolean, world: World) {
    this.#folder = folder
    this.#waitsForDisk = waitsForDisk
    this.#world = world
  }

  load(id: string): Promise<TaskRecord | undefined> {
    const name = fileNameOf(id)
    return this.#inTurn(name, () => this.#read(name))
  }

  save(record: TaskRecord): Promise<void> {
    const name = fileNameOf(record.id)
    const bytes = encodeTask(record)
    const how = { durable: this.#waitsForDisk, id: this.#world.id }
    return this.#inTurn(name, () => replaceFile(this.#folder, name, bytes, how))
  }

  delete(id: string): Promise<void> {
    const name = fileNameOf(id)
    return this.#inTurn(name, () => unlinkIfThere(join(this.#folder, name)))
  }

  async *list(): AsyncGenerator<TaskRecord> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      if (isTemporary(name)) {
        const at = (await timeOf(path)) ?? Number.POSITIVE_INFINITY
        if (at < this.#world.date() - abandoned) await unlinkIfThere(path).catch(() => {})
      } else if (isFileName(name)) {
        const record = await this.#readOrSay(name, path)
        if (record !== undefined) yield record
      }
    }
  }

  /** One that cannot be read costs no other. */
  async #readOrSay(name: string, path: string): Promise<TaskRecord | undefined> {
    try {
      const record = await this.#read(name)
      if (record === undefined) warnOf(path, 'damaged')
      return record
    } catch (error) {
      if (!unreadable.has(String((error as NodeJS.ErrnoException).code))) throw error
      warnOf(path, `unreadable (${messageOf(error)})`)
      return undefined
    }
  }

  async #read(name: string): Promise<TaskRecord | undefined> {
    const found = await readIfThere(join(this.#folder, name))
    const record = found === undefined ? undefined : decodeTask(found.bytes)
    return record !== undefined && fileNameOf(record.id) === name ? record : undefined
  }

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
}

/** Mark, digest, and the record as JSON. */
export function encodeTask(record: TaskRecord): Buffer {
  const payload = Buffer.from(JSON.stringify(record))
  return Buffer.concat([magic, digest(payload), payload])
}

/** The record in the bytes of a file; undefined if they are torn, damaged, or no record. */
export function decodeTask(bytes: Buffer): TaskRecord | undefined {
  const start = magic.length + digestBytes
  if (!bytes.subarray(0, magic.length).equals(magic)) return undefined
  const payload = bytes.subarray(start)
  if (!digest(payload).equals(bytes.subarray(magic.length, start))) return undefined
  try {
    const record: unknown = JSON.parse(payload.toString())
    return isTaskRecord(record) ? record : undefined
  } catch {
    return undefined // whoever has written its digest has written no JSON
  }
}

/** The name of a task's file: a digest, since who knows an id may have its task. */
function fileNameOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex')}.task`
}

function isFileName(name: string): boolean {
  return /^[0-9a-f]{64}\.task$/.test(name)
}

function digest(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest()
}

function warnOf(path: string, how: string): void {
  process.emitWarning(`the file of a task is ${how}, and left where it is: ${path}`, {
    code: 'CADUCEUS_DAMAGED_TASK',
  })
}

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isTemporary, readIfThere, replaceFile, timeOf, unlinkIfThere } from '../../runtime/base/files.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { World } from '../../runtime/time/world.js'
import { Turns } from '../base/turns.js'
import { FramedFiles } from './framed.js'
import { isTaskRecord, type TaskRecord, type TaskStore } from './task-store.js'

const taskFiles = new FramedFiles('caduceus task 1', 'task')
/** Milliseconds without a change after which a temporary file belongs to a program that was killed. */
const abandoned = 60_000
/** What is wrong with one entry of a folder, and not with all. */
const unreadable: ReadonlySet<string> = new Set([
  'EACCES',
  'EFTYPE',
  'EIO',
  'EISDIR',
  'ELOOP',
  'ENOTDIR',
  'EPERM',
  'ENXIO',
])

/**
 * Tasks in files (mode 0600), one each, replaced in one step: a kill at any moment leaves the old record or the
 * new one. A file that is damaged is left where it is, and warned of.
 */
export class FileTasks implements TaskStore {
  readonly durable = true
  readonly #folder: string
  readonly #waitsForDisk: boolean
  readonly #world: World
  /** Operations on one file run one after the other. */
  readonly #turns = new Turns()

  /** `waitsForDisk`: whether a save does (fsync). */
  constructor(folder: string, waitsForDisk: boolean, world: World) {
    this.#folder = folder
    this.#waitsForDisk = waitsForDisk
    this.#world = world
  }

  load(id: string): Promise<TaskRecord | undefined> {
    const name = taskFiles.nameOf(id)
    return this.#turns.take(name, () => this.#read(name))
  }

  save(record: TaskRecord): Promise<void> {
    const name = taskFiles.nameOf(record.id)
    const bytes = encodeTask(record)
    const how = { durable: this.#waitsForDisk, id: this.#world.id }
    return this.#turns.take(name, () => replaceFile(this.#folder, name, bytes, how))
  }

  delete(id: string): Promise<void> {
    const name = taskFiles.nameOf(id)
    return this.#turns.take(name, () => unlinkIfThere(join(this.#folder, name)))
  }

  async *list(): AsyncGenerator<TaskRecord> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      if (isTemporary(name)) {
        const at = (await timeOf(path)) ?? Number.POSITIVE_INFINITY
        if (at < this.#world.date() - abandoned) await unlinkIfThere(path).catch(() => {})
      } else if (taskFiles.isName(name)) {
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
    return record !== undefined && taskFiles.nameOf(record.id) === name ? record : undefined
  }
}

/** The record as JSON, framed. */
export function encodeTask(record: TaskRecord): Buffer {
  return taskFiles.frame(Buffer.from(JSON.stringify(record)))
}

/** The record in the bytes of a file; undefined if they are torn, damaged, or no record. */
export function decodeTask(bytes: Buffer): TaskRecord | undefined {
  const payload = taskFiles.open(bytes)
  if (payload === undefined) return undefined
  try {
    const record: unknown = JSON.parse(payload.toString())
    return isTaskRecord(record) ? record : undefined
  } catch {
    return undefined // whoever has written its digest has written no JSON
  }
}

function warnOf(path: string, how: string): void {
  process.emitWarning(`the file of a task is ${how}, and left where it is: ${path}`, {
    code: 'CADUCEUS_DAMAGED_TASK',
  })
}

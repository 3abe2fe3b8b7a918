import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isTemporary, readIfThere, replaceFile, timeOf, unlinkIfThere } from '../../runtime/base/files.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { opened } from './session-store.js'
import { isTaskRecord, type TaskRecord, type TaskStore } from './task-store.js'

/** Where a store of tasks is. */
export interface FileTaskStoreOptions {
  /** A folder that holds nothing but these tasks, for one program at a time; it is made if missing (0700). */
  readonly folder: string
  /**
   * Whether a save waits for the disk (fsync): tasks then survive a loss of power, and each step takes as long
   * as the disk. Default false: they survive any end of the program.
   */
  readonly durable?: boolean
}

const magic = Buffer.from('caduceus task 1\n')
const digestBytes = 32
/** Milliseconds without a change after which a temporary file belongs to a program that was killed. */
const abandoned = 60_000
/** What is wrong with one entry of a folder, and not with all. */
const unreadable: ReadonlySet<string> = new Set(['EACCES', 'EIO', 'EISDIR', 'ELOOP', 'ENOTDIR', 'EPERM'])

/**
 * A store of tasks for one machine: one file a task (mode 0600), replaced in one step, so that a kill at any
 * moment leaves the old record or the new one. A file that is damaged is left where it is, and warned of.
 * Throws BAD_OPTION, also if the folder cannot be made or written.
 */
export function createFileTaskStore(options: FileTaskStoreOptions): TaskStore {
  const { badOption, readFields, readFlag } = readersOf('file task store')
  const { folder } = readFields(
    options,
    'options',
    ['folder', 'durable'],
    '',
    "createFileTaskStore({ folder: './tasks' })",
  )
  if (typeof folder !== 'string' || folder === '') throw badOption('folder', 'the path of a folder', folder)
  return new FileTaskStore(makeFolder(folder), readFlag(options.durable, 'durable', false))
}

class FileTaskStore implements TaskStore {
  readonly durable = true
  readonly #folder: string
  readonly #waitsForDisk: boolean
  /** The last operation on each file: operations on one file run one after the other. */
  #ownWorld: World | undefined
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(folder: string, waitsForDisk: boolean) {
    this.#folder = folder
    this.#waitsForDisk = waitsForDisk
  }

  [opened](world: World): void {
    this.#ownWorld ??= world
  }

  get #world(): World {
    return this.#ownWorld ?? systemWorld
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

/** Made at once: a wrong folder fails the start of the program, not its first task. */
function makeFolder(folder: string): string {
  const path = resolve(folder)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return path
  } catch (cause) {
    const problem = `folder: expected one that can be made, read and written, got ${show(folder)}`
    throw optionError('folder', problem, cause)
  }
}

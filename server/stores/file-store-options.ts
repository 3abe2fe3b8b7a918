import { among } from '../../runtime/base/near.js'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { isCount } from '../../runtime/supervision/options.js'
import { type ServerError, optionError } from '../base/errors.js'

/** Where a file store is, and how it is bounded. */
export interface FileStoreOptions {
  /** The folder, for sessions alone; made when it is not there (mode 0700). */
  readonly folder: string
  /** Sessions at once; beyond it the one saved longest ago is forgotten. Default 10,000. */
  readonly maxSessions?: number
  /** Milliseconds after which a session that was not saved again is forgotten. Default 30 min. */
  readonly idleTimeout?: number
  /** Bytes of one session; a larger one is refused with BAD_STATE, which fails the request. Default 1 MiB. */
  readonly maxBytes?: number
  /**
   * Whether a save waits until the disk has it (fsync): then sessions also survive a loss of power, and each
   * save takes as long as the disk. Default false: they survive any end of the program.
   */
  readonly durable?: boolean
  /**
   * Whether several programs on this machine serve the same sessions from this folder, see `SessionStore`.
   * Default false.
   */
  readonly shared?: boolean
  /** The time in ms since 1970. Default `Date.now`. */
  readonly now?: () => number
}

const numbers = Object.freeze({ maxSessions: 10_000, idleTimeout: 30 * 60_000, maxBytes: 1_048_576 })
const fields = [...Object.keys(numbers), 'folder', 'durable', 'shared', 'now']

/** Checks the options, fills in the defaults, and makes the folder. Throws BAD_OPTION. */
export function readFileStoreOptions(options: FileStoreOptions): Required<FileStoreOptions> {
  if (!isObject(options)) throw bad('options', 'an object with a folder', options)
  for (const field of Object.keys(options))
    if (!fields.includes(field)) throw bad(field, among('an option', fields, field), field)
  const { folder, durable = false, shared = false, now = Date.now }: FileStoreOptions = options
  if (typeof folder !== 'string' || folder === '') throw bad('folder', 'the path of a folder', folder)
  for (const [field, value] of Object.entries({ durable, shared }))
    if (typeof value !== 'boolean') throw bad(field, 'true or false', value)
  if (typeof now !== 'function') throw bad('now', 'a function', now)
  const limits = {
    maxSessions: readNumber(options, 'maxSessions'),
    idleTimeout: readNumber(options, 'idleTimeout'),
    maxBytes: readNumber(options, 'maxBytes'),
  }
  return { ...limits, folder: makeFolder(folder), durable, shared, now }
}

function readNumber(options: FileStoreOptions, field: keyof typeof numbers): number {
  const { [field]: value = numbers[field] } = options
  if (!(typeof value === 'number' && value > 0)) throw bad(field, 'a number above 0', value)
  if (field !== 'idleTimeout' && !isCount(value)) throw bad(field, 'a whole number above 0', value)
  return value
}

/** At once, so that a wrong folder ends the start of the program and not its first session. */
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

function bad(field: string, expected: string, got: unknown): ServerError {
  const problem = `file store: ${field}: expected ${expected}, got ${show(got)}`
  return optionError(field, problem)
}

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { entryOf } from '../../runtime/base/entries.js'
import { isObject } from '../../protocol/wire/json.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import type { IsolatedHandler } from '../context/isolated.js'

/**
 * Where the handlers of isolated components run (`isolate`). Each thread or process has one call at a time.
 */
export interface IsolationOptions {
  /**
   * Threads at once, and so calls; more calls wait, and clients take turns. Default: the cores, at most 4.
   */
  readonly threads?: number
  /** Processes at once, likewise. Default: the cores, at most 4. */
  readonly processes?: number
  /** Threads, or processes, that are ready before they are needed. Default 1. */
  readonly spares?: number
  /** Bytes that each may use; a call that takes more ends. Default 1 GiB. */
  readonly memory?: number
  /**
   * Bytes of a result, about, and of anything else that a handler sends; a larger one is refused in the thread
   * or process, as to take it over would hold up everybody else. Default 16 MiB.
   */
  readonly maxResultBytes?: number
  /** Milliseconds until an idle one beyond the spares ends. Default 60,000. */
  readonly idleTimeout?: number
}

/** The options of a pool, and the modules that its workers load ahead. */
export interface PoolSettings {
  readonly kind: IsolatedHandler['kind']
  readonly size: number
  readonly spares: number
  readonly memory: number
  readonly maxResultBytes: number
  readonly idleTimeout: number
  /** Calls of one client that may wait. */
  readonly maxWaiting: number
  readonly modules: readonly string[]
}

export type IsolationSettings = Readonly<Record<IsolatedHandler['kind'], PoolSettings>>

const { badOption, readDelay, readFields, readLimit } = readersOf()
const fields = ['threads', 'processes', 'spares', 'memory', 'maxResultBytes', 'idleTimeout']
const gibibyte = 2 ** 30

/** The module of the actor that workers run. */
export const workerModule = entryOf('server/isolation/worker.js')

/**
 * Reads the option `isolation`; undefined where there is neither it nor an isolated handler. Throws
 * BAD_OPTION.
 */
export function readIsolation(
  option: unknown,
  handlers: readonly IsolatedHandler[],
  maxWaiting: number,
): IsolationSettings | undefined {
  if (option === undefined && handlers.length === 0) return undefined
  if (option !== undefined && !isObject(option)) throw badOption('isolation', 'an object', option)
  checkFiles()
  const given = readFields(option ?? {}, 'isolation', fields, 'isolation.')
  const cores = Math.min(4, availableParallelism())
  const common = {
    spares: readDelay(given.spares, 'isolation.spares', 1),
    memory: readLimit(given.memory, 'isolation.memory', gibibyte),
    maxResultBytes: readLimit(given.maxResultBytes, 'isolation.maxResultBytes', 16 * 2 ** 20),
    idleTimeout: readDelay(given.idleTimeout, 'isolation.idleTimeout', 60_000),
    maxWaiting,
  }
  if (!Number.isInteger(common.spares))
    throw badOption('isolation.spares', 'a whole number of 0 or more', given.spares)
  const pool = (kind: IsolatedHandler['kind'], size: number): PoolSettings => {
    const modules = new Set(handlers.filter((handler) => handler.kind === kind).map(({ module }) => module))
    return Object.freeze({ ...common, kind, size, modules: [...modules] })
  }
  return Object.freeze({
    thread: pool('thread', readLimit(given.threads, 'isolation.threads', cores)),
    process: pool('process', readLimit(given.processes, 'isolation.processes', cores)),
  })
}

/** A program bundled into one file has no files to start threads and processes from. */
function checkFiles(): void {
  const missing = [workerModule, entryOf('runtime/peers/boot.js')].find(
    (url) => url.protocol !== 'file:' || !existsSync(fileURLToPath(url)),
  )
  if (missing === undefined) return
  const problem = `isolate: the threads and processes of handlers start from files of caduceus, and ${missing.href} is not there: bundle the program with caduceus as an external package`
  throw optionError('isolate', problem)
}

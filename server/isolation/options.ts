import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { entryOf } from '../../runtime/base/entries.js'
import { orElse } from '../../runtime/base/read-options.js'
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

const { readAmount, readDelay, readGroup, readLimit } = readersOf()
const gibibyte = 2 ** 30
const cores = Math.min(4, availableParallelism())

/** Reads the option `isolation`. Throws BAD_OPTION. */
export const readIsolation = readGroup({
  threads: orElse(readLimit, cores),
  processes: orElse(readLimit, cores),
  spares: orElse(readAmount, 1),
  memory: orElse(readLimit, gibibyte),
  maxResultBytes: orElse(readLimit, 16 * 2 ** 20),
  idleTimeout: orElse(readDelay, 60_000),
})

/** The module of the actor that workers run. */
export const workerModule = entryOf('server/isolation/worker.js')

/**
 * What the handlers run in; undefined where there is neither the option nor an isolated handler. Throws
 * BAD_OPTION.
 */
export function poolsFor(
  option: ReturnType<typeof readIsolation> | undefined,
  handlers: readonly IsolatedHandler[],
  maxWaiting: number,
): IsolationSettings | undefined {
  if (option === undefined && handlers.length === 0) return undefined
  checkFiles()
  const { threads, processes, ...common } = option ?? readIsolation({}, 'isolation')
  const pool = (kind: IsolatedHandler['kind'], size: number): PoolSettings => {
    const modules = new Set(handlers.filter((handler) => handler.kind === kind).map(({ module }) => module))
    return Object.freeze({ ...common, maxWaiting, kind, size, modules: [...modules] })
  }
  return Object.freeze({ thread: pool('thread', threads), process: pool('process', processes) })
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

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { entryOf } from '../base/entries.js'
import { badOption } from '../base/check.js'
import { stackOf } from '../base/errors.js'
import { threads } from '../base/threads.js'
import { type BlockedEvent, emit } from '../faults/events.js'
import { outside } from '../faults/containment.js'
import { unblockStandardError } from '../faults/standard-error.js'

/** What to do when the event loop is blocked. */
export interface WatchdogOptions {
  /**
   * `report`: an event (`subscribe('blocked')`) and a line, once, with whose code it was and its stack.
   * `exit`: a line on standard error, and then the program is killed (SIGKILL), for whoever supervises it.
   * `ignore`: nobody looks. Default `report`.
   */
  onBlocked?: 'report' | 'exit' | 'ignore' | undefined
  /** Milliseconds that the event loop may be late. Default 500; 50 or more. */
  blockedAfter?: number | undefined
}

/** Data that the thread starts with. */
export interface WatchdogData {
  /** How often the loop has turned when it was asked to, and nothing, to wait at. */
  readonly shared: SharedArrayBuffer
  readonly blockedAfter: number
  readonly exits: boolean
  /** Whether the thread may write to standard error itself. */
  readonly prints: boolean
}

/** A blocked event loop, as the thread reports it. */
export interface Finding {
  readonly ms: number
  readonly owner:
    | (Pick<BlockedEvent, 'tree' | 'ancestors' | 'serves'> & { readonly name: string })
    | undefined
  readonly stack: readonly string[]
}

/** What the thread sends; `since` (nanoseconds, `process.hrtime`) if the loop did not turn yet. */
type ThreadMessage = 'turn' | (Finding & { readonly since: bigint | undefined })

interface Watched {
  readonly tree: number
  readonly onBlocked: 'report' | 'exit'
  readonly blockedAfter: number
  readonly prints: boolean
}

/**
 * Watches the event loop for as long as a tree lives, until the returned function is called. One thread
 * serves all trees of this program; it is started a second after the first, so that short programs have none.
 * Throws BAD_OPTION.
 */
export function watchLoop(
  tree: number,
  options: WatchdogOptions & { readonly logger?: unknown },
): () => void {
  const { onBlocked = 'report', blockedAfter = 500, logger } = options
  if (!['report', 'exit', 'ignore'].includes(onBlocked))
    throw badOption('onBlocked', "'report', 'exit' or 'ignore'", onBlocked)
  if (!(typeof blockedAfter === 'number' && blockedAfter >= 50 && blockedAfter <= longest))
    throw badOption('blockedAfter', `milliseconds from 50 to ${longest}`, blockedAfter)
  // the inspector of a worker thread cannot be reached from another; some platforms have no threads
  if (onBlocked === 'ignore' || threads()?.isMainThread !== true) return () => {}
  const watched: Watched = { tree, onBlocked, blockedAfter, prints: logger !== false }
  watchdog.add(watched)
  return () => watchdog.delete(watched)
}

const longest = 86_400_000
/** Milliseconds after which the thread is started. */
const delay = 1_000
const thread = entryOf('runtime/watchdog/thread.js')

type Wanted = Omit<WatchdogData, 'shared'>

class Watchdog {
  readonly #trees = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined
  #running: { readonly worker: Worker; readonly wanted: Wanted } | undefined

  add(tree: Watched): void {
    this.#trees.add(tree)
    this.#settle()
  }

  delete(tree: Watched): void {
    this.#trees.delete(tree)
    this.#settle()
  }

  /** Starts, changes or ends the thread, as the trees want it. */
  #settle(): void {
    if (this.#trees.size === 0) return this.#end()
    if (this.#running !== undefined && !isSame(this.#running.wanted, this.#wanted())) this.#end()
    if (this.#running === undefined)
      this.#timer ??= outside(() => setTimeout(() => this.#begin(), delay).unref())
  }

  #wanted(): Wanted {
    const trees = [...this.#trees]
    return {
      blockedAfter: Math.min(...trees.map((tree) => tree.blockedAfter)),
      exits: trees.some((tree) => tree.onBlocked === 'exit'),
      prints: trees.some((tree) => tree.prints),
    }
  }

  /** A program that may start no thread, or was bundled into one file, goes on without. */
  #begin(): void {
    this.#timer = undefined
    const shared = new SharedArrayBuffer(8)
    const wanted = this.#wanted()
    try {
      const { Worker } = process.getBuiltinModule('node:worker_threads')
      if (!existsSync(fileURLToPath(thread))) return
      const workerData: WatchdogData = { ...wanted, shared }
      // it writes there, and cannot see to it
      if (wanted.prints || wanted.exits) unblockStandardError()
      const worker = new Worker(thread, {
        name: 'watchdog',
        workerData,
        execArgv: [],
        env: {},
        resourceLimits,
      })
      const turns = new Int32Array(shared)
      worker.on('message', (message: ThreadMessage) =>
        message === 'turn' ? answer(turns) : this.#tell(message),
      )
      worker.on('error', (error) => {
        process.emitWarning(`nobody watches the event loop: ${stackOf(error)}`, { code: 'CADUCEUS_WATCHDOG' })
        this.#end()
      })
      // after the listener, which would keep the program alive
      worker.unref()
      this.#running = { worker, wanted }
    } catch {
      this.#end()
    }
  }

  #tell({ ms, since, owner, stack }: Exclude<ThreadMessage, 'turn'>): void {
    const tree = owner?.tree ?? [...this.#trees][0]?.tree ?? 0
    const total = since === undefined ? ms : Number((process.hrtime.bigint() - since) / 1_000_000n)
    emit('blocked', () => ({
      tree,
      owner: owner?.name,
      ancestors: owner?.ancestors ?? [],
      serves: owner?.serves,
      ms: total,
      stack,
    }))
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    void this.#running?.worker.terminate()
    this.#running = undefined
  }
}

const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 }

function isSame(one: Wanted, other: Wanted): boolean {
  return one.blockedAfter === other.blockedAfter && one.exits === other.exits && one.prints === other.prints
}

function answer(shared: Int32Array): void {
  Atomics.add(shared, 0, 1)
  Atomics.notify(shared, 0)
}

const key = Symbol.for('caduceus.watchdog.1')
const shared = globalThis as { [key]?: Watchdog }
/** One for all copies of this library in the process. */
const watchdog = shared[key] ?? new Watchdog()
shared[key] = watchdog

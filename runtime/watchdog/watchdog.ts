import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { entryOf } from '../base/entries.js'
import { badOption } from '../base/check.js'
import { emit } from '../faults/events.js'
import { outside } from '../faults/containment.js'

/** What is done about an event loop that does not turn, since something in the program gives no way. */
export interface WatchdogOptions {
  /**
   * `report`: an event and a line, once, with whose code it was and its stack. `exit`: the same on standard
   * error, and then the program is killed (SIGKILL), for whoever supervises it. `ignore`: nobody looks.
   * Default
   * `ignore`.
   */
  onBlocked?: 'report' | 'exit' | 'ignore'
  /** Milliseconds that the event loop may be late. Default 500; 50 or more. */
  blockedAfter?: number
}

/** What the watchdog has found: the loop did not turn for that long. */
export interface BlockedLoop {
  /** Milliseconds without a turn when it was looked at. */
  readonly ms: number
  /** The process whose code ran, and its tree; undefined where that cannot be told. */
  readonly owner: { readonly name: string; readonly tree: number } | undefined
  /** The functions that ran, innermost first, as `name (file:line)`; empty in native code. */
  readonly stack: readonly string[]
}

/** What the thread is given. */
export interface WatchdogData {
  readonly beats: SharedArrayBuffer
  readonly blockedAfter: number
  readonly exits: boolean
}

interface Watched extends Required<WatchdogOptions> {
  readonly tree: number
}

/**
 * Watches the event loop for as long as a tree lives, until the returned function is called. One thread
 * serves all trees
 * of this process of Node; it is started a second after the first, so that short programs have none. Throws
 * BAD_OPTION.
 */
export function watchLoop(tree: number, options: WatchdogOptions): () => void {
  const { onBlocked = 'ignore', blockedAfter = 500 } = options
  if (!['report', 'exit', 'ignore'].includes(onBlocked))
    throw badOption('onBlocked', "'report', 'exit' or 'ignore'", onBlocked)
  if (!(typeof blockedAfter === 'number' && blockedAfter >= 50))
    throw badOption('blockedAfter', 'milliseconds of 50 or more', blockedAfter)
  if (onBlocked === 'ignore') return () => {}
  const watched: Watched = { tree, onBlocked, blockedAfter }
  watchdog.add(watched)
  return () => watchdog.delete(watched)
}

/** Milliseconds after which the thread is started. */
const delay = 1_000
const thread = entryOf('runtime/watchdog/thread.js')

class Watchdog {
  readonly #trees = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined
  #running: { readonly worker: Worker; readonly data: WatchdogData } | undefined

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
    const { blockedAfter, exits } = this.#wanted()
    const data = this.#running?.data
    if (data !== undefined && (data.blockedAfter !== blockedAfter || data.exits !== exits)) this.#end()
    if (this.#timer === undefined) this.#timer = outside(() => setTimeout(() => this.#begin(), delay).unref())
  }

  #wanted(): { blockedAfter: number; exits: boolean } {
    const trees = [...this.#trees]
    return {
      blockedAfter: Math.min(...trees.map((tree) => tree.blockedAfter)),
      exits: trees.some((tree) => tree.onBlocked === 'exit'),
    }
  }

  #begin(): void {
    // a program that was bundled into one file has no thread to start
    if (!existsSync(fileURLToPath(thread))) return
    const { blockedAfter, exits } = this.#wanted()
    const data: WatchdogData = { beats: new SharedArrayBuffer(4), blockedAfter, exits }
    const worker = new Worker(thread, { name: 'watchdog', workerData: data, execArgv: [], env: {} })
    worker.unref()
    worker.on('message', (found: BlockedLoop) => this.#tell(found))
    // without a watchdog the program goes on
    worker.on('error', () => this.#end())
    const beats = new Int32Array(data.beats)
    this.#timer = setInterval(() => Atomics.add(beats, 0, 1), blockedAfter / 4).unref()
    this.#running = { worker, data }
  }

  #tell({ ms, owner, stack }: BlockedLoop): void {
    const tree = owner?.tree ?? [...this.#trees][0]?.tree ?? 0
    emit('blocked', () => ({ tree, owner: owner?.name, ms, stack }))
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    void this.#running?.worker.terminate()
    this.#running = undefined
  }
}

const key = Symbol.for('caduceus.watchdog.1')
const shared = globalThis as { [key]?: Watchdog }
/** One for all copies of this library in the process. */
const watchdog = shared[key] ?? new Watchdog()
shared[key] = watchdog

import { kill, shutdown } from '../base/exit.js'
import type { ActorRef, ProcessRef } from '../process/ref.js'
import type { World } from '../time/world.js'
import type { Elsewhere } from './elsewhere.js'
import type { Row, Rows } from './row.js'
import { compareRows, findProcess, Places, readRows } from './rows.js'
import type { Timeline } from './timeline.js'

interface TreeWatcherSettings {
  readonly world: Pick<World, 'now'>
  /** Receives what happened in other threads, processes and nodes, too. */
  readonly timeline: Timeline
  /** Trees that are not read, by their numbers. */
  readonly leaveOut: ReadonlySet<number>
  /** Rows that are read. */
  readonly most: number
  /** Whether other nodes are looked at, too: not by one that is itself looked at from there. */
  readonly nodes: boolean
}

/**
 * Reads all trees of this thread, and those of its peers as they tell of themselves, and says what is other.
 */
export class TreeWatcher {
  readonly #settings: TreeWatcherSettings
  readonly #heard = new WeakMap<Elsewhere, number>()
  readonly #places = new Places()
  #beyond = new Set<Elsewhere>()
  #rows: Rows = new Map()

  constructor(settings: TreeWatcherSettings) {
    this.#settings = settings
  }

  /** As they were read last; empty while nobody looks. */
  get rows(): Rows {
    return this.#rows
  }

  /** Returns the changes since the last look. */
  look(): { readonly rows: readonly Row[]; readonly gone: readonly number[] } {
    const { world, ...reading } = this.#settings
    const before = this.#rows
    this.#beyond = new Set()
    this.#rows = readRows(this.#places, { ...reading, beyond: this.#beyond })
    for (const there of this.#beyond) {
      this.#hear(there)
      there.look(world.now())
    }
    return compareRows(before, this.#rows)
  }

  /** The last viewer has left. */
  leave(): void {
    for (const there of this.#beyond) there.leave()
    this.#beyond = new Set()
    this.#rows = new Map()
  }

  /** The process of a row of this thread; undefined where none runs. */
  find(key: number): ProcessRef | undefined {
    return findProcess(this.#places, key, this.#settings.leaveOut)?.process.ref
  }

  /**
   * Ends the process of a row, at once or in order, as if nobody in particular had asked. `gone`: none runs there;
   * `final`: nobody would start it again after an end in order, so that it is left alone; `beyond`: it is another
   * node's.
   */
  end(key: number, how: 'kill' | 'restart'): 'done' | 'gone' | 'final' | 'beyond' {
    const found = findProcess(this.#places, key, this.#settings.leaveOut)
    if (found !== undefined) {
      const { process, record } = found
      if (how === 'kill') process.signal(null, kill)
      else if (record?.spec.restart !== 'permanent') return 'final'
      // no signal of an exit: those that trap exits take it for a message
      else void (process.ref as ActorRef).stop(shutdown, Number.POSITIVE_INFINITY)
      return 'done'
    }
    for (const there of this.#beyond)
      for (const [theirs, ours] of this.#places.known(there)?.keys ?? [])
        if (ours === key) {
          if (there.node !== undefined) return 'beyond'
          there.end(theirs, how)
          return 'done'
        }
    return 'gone'
  }

  #hear(there: Elsewhere): void {
    const last = this.#heard.get(there) ?? 0
    const trees = this.#places.known(there)?.trees
    for (const { id, at, tree, ...happening } of there.happened) {
      if (id <= last) continue
      this.#heard.set(there, id)
      const here = tree === undefined ? undefined : trees?.get(tree)
      this.#settings.timeline.add({ ...happening, tree: here }, at)
    }
  }
}

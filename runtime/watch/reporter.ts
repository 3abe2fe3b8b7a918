import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { isMain } from '../base/threads.js'
import type { World } from '../time/world.js'
import type { Question, Report } from './elsewhere.js'
import { TreeWatcher } from './tree-watcher.js'
import { Timeline } from './timeline.js'

interface ReporterOptions {
  readonly world: Pick<World, 'now' | 'date'>
  /** Rows that are told of. */
  readonly most: number
}

/**
 * Tells whoever looks from elsewhere what the trees of this thread, and of its peers, are like. It keeps what
 * has happened until it is disposed of; the trees are read when it is asked.
 */
export class Reporter implements Disposable {
  readonly #world: Pick<World, 'now'>
  readonly #timeline: Timeline
  readonly #watcher: TreeWatcher
  /** The number of the last happening that was told. */
  #told = 0
  #loop: EventLoopUtilization = performance.eventLoopUtilization()

  constructor({ world, most }: ReporterOptions) {
    const leaveOut: ReadonlySet<number> = new Set()
    this.#world = world
    this.#timeline = new Timeline(world.date, leaveOut)
    this.#watcher = new TreeWatcher({ world, timeline: this.#timeline, leaveOut, most, nodes: false })
  }

  [Symbol.dispose](): void {
    this.#watcher.leave()
    this.#timeline[Symbol.dispose]()
  }

  /** Answers a look with a report. */
  answer(question: Question): Report | undefined {
    if (question.what === 'look') return this.#look(question.id)
    if (question.what === 'leave') this.#watcher.leave()
    else this.#watcher.end(question.key, question.what)
    return undefined
  }

  #look(id: number): Report {
    const began = this.#world.now()
    const changes = this.#watcher.look()
    const happened = this.#timeline.all.filter(({ id }) => id > this.#told)
    this.#told = happened.at(-1)?.id ?? this.#told
    const loop = performance.eventLoopUtilization()
    const { utilization: busy } = performance.eventLoopUtilization(loop, this.#loop)
    this.#loop = loop
    return { id, ...changes, happened, memory: memoryInUse(), busy, took: this.#world.now() - began }
  }
}

/** Bytes: of a thread its heap and Buffers, of a process all that it has in memory. */
export function memoryInUse(): number {
  if (isMain()) return process.memoryUsage.rss()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

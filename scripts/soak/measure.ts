import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Spread } from './report.js'

/** Memory at one moment, in MiB. */
export interface Memory {
  readonly heap: number
  readonly rss: number
}

/** What keeps this process alive, by kind. */
export type Handles = Readonly<Record<string, number>>

/** Collects garbage, and answers what is left. */
export function createMemoryMeter(): () => Memory {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return () => {
    collect()
    const { heapUsed, rss } = process.memoryUsage()
    return { heap: toMiB(heapUsed), rss: toMiB(rss) }
  }
}

/** What keeps this process alive now. */
export function countHandles(): Handles {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** Kinds of handles of which there are more than there were. */
export function moreHandles(before: Handles, after: Handles): string[] {
  return Object.entries(after).flatMap(([name, count]) => {
    const more = count - (before[name] ?? 0)
    return more > 0 ? [`${more} x ${name}`] : []
  })
}

/** Milliseconds between two looks at the event loop. */
const lookEvery = 20

/** Measures how late the event loop is, until the answer is asked for. */
export function watchEventLoop(): () => Spread {
  const delays = monitorEventLoopDelay({ resolution: lookEvery })
  delays.enable()
  return () => {
    delays.disable()
    // In ns, and with the time between two looks in it.
    const late = (ns: number): number => Math.max(0, Math.round(ns / 1e6) - lookEvery)
    const { count, max } = delays
    return { count, p50: late(delays.percentile(50)), p99: late(delays.percentile(99)), most: late(max) }
  }
}

/** Knows every child process that lives, whoever started it, until `stop`. */
export function watchChildren(): { readonly alive: ReadonlySet<ChildProcess>; stop(): void } {
  const alive = new Set<ChildProcess>()
  const onChild = (message: unknown): void => {
    const { process: child } = message as { process: ChildProcess }
    alive.add(child)
    child.once('exit', () => alive.delete(child))
    child.once('error', () => child.pid === undefined && alive.delete(child))
  }
  subscribe('child_process', onChild)
  return { alive, stop: () => unsubscribe('child_process', onChild) }
}

/** How fast something grows: the slope of the line that fits best through these points, 0 for fewer than three. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  if (points.length < 3) return 0
  const mean = (of: 0 | 1): number => points.reduce((sum, point) => sum + point[of], 0) / points.length
  const [x, y] = [mean(0), mean(1)]
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  const under = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
  return under === 0 ? 0 : over / under
}

function toMiB(bytes: number): number {
  return Number((bytes / 2 ** 20).toFixed(1))
}

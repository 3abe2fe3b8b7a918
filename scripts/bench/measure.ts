/** Operations per second: a warm-up of a tenth, then three measurements, the middle one. */
export async function ratePerSecond(count: number, run: (count: number) => unknown): Promise<number> {
  await run(Math.max(1, Math.floor(count / 10)))
  const rates: number[] = []
  for (let i = 0; i < 3; i++) {
    const start = performance.now()
    await run(count)
    rates.push(count / ((performance.now() - start) / 1_000))
  }
  return median(rates)
}

/** Heap bytes per item that `make` keeps alive. */
export async function heapPerItem(count: number, make: (count: number) => unknown): Promise<number> {
  await collect()
  const before = process.memoryUsage().heapUsed
  const held = await make(count)
  await collect()
  const used = process.memoryUsage().heapUsed - before
  if (held === undefined) throw new Error('nothing was held, so nothing was measured')
  return used / count
}

/**
 * The longest time in ms that a 1 ms timer was late while what `post` has put into mailboxes was worked off. Posting is a loop of
 * the caller's own that nothing can interrupt, so the clock starts behind it.
 */
export async function worstTimerDelay(post: () => () => Promise<unknown>): Promise<number> {
  const drained = post()
  let worst = 0
  let running = true
  let due = performance.now() + 1
  const tick = (): void => {
    const now = performance.now()
    worst = Math.max(worst, now - due)
    due = now + 1
    if (running) setTimeout(tick, 1)
  }
  setTimeout(tick, 1)
  await drained()
  await new Promise((resolve) => setTimeout(resolve, 2))
  running = false
  return worst
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/** A promise with its settling function beside it. */
export function latch(): { promise: Promise<void>; open: () => void } {
  let open: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

async function collect(): Promise<void> {
  const { gc } = globalThis as { gc?: () => void }
  if (gc === undefined) throw new Error('run with --expose-gc')
  for (let i = 0; i < 3; i++) {
    gc()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What each contender is asked; a missing one is not possible with it. */
export interface Contender {
  cast_sync?(): Promise<number>
  cast_async?(): Promise<number>
  call_seq?(): Promise<number>
  call_100?(): Promise<number>
  ring?(): Promise<number>
  start_stop?(): Promise<number>
  idle_heap_bytes?(): Promise<number>
  crash_ready_us?(): Promise<number>
  timer_late_ms?(): Promise<number>
}

/** The measurements, in the order they are reported. */
export const measurements = [
  'cast_sync',
  'cast_async',
  'call_seq',
  'call_100',
  'ring',
  'start_stop',
  'idle_heap_bytes',
  'crash_ready_us',
  'timer_late_ms',
] as const

import { readdirSync } from 'node:fs'
import { createFakeClock, type FakeClock } from '../../runtime/time/fake-clock.js'

/** A fake clock that also counts how often a timer was taken back: a leak shows there when its owner ends. */
export function countedClock(): FakeClock & { readonly cleared: number } {
  const clock = createFakeClock()
  const count = { cleared: 0 }
  return {
    now: clock.now,
    setTimeout: clock.setTimeout,
    clearTimeout(timer) {
      if (timer !== undefined) count.cleared += 1
      clock.clearTimeout(timer)
    },
    advance: clock.advance,
    get pending() {
      return clock.pending
    },
    get cleared() {
      return count.cleared
    },
  }
}

/** A signal that tells how many listen to it. */
export function countedSignal(): {
  readonly signal: AbortSignal
  readonly listeners: () => number
  readonly abort: (reason: unknown) => void
} {
  const controller = new AbortController()
  const { signal } = controller
  const listening = new Set<unknown>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type: string, listener: never, options?: never) => {
    listening.add(listener)
    add(type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: never, options?: never) => {
    listening.delete(listener)
    remove(type, listener, options)
  }
  return { signal, listeners: () => listening.size, abort: (reason) => controller.abort(reason) }
}

/** How many descriptors this process has open. */
export function openDescriptors(): number {
  return readdirSync(process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd').length
}

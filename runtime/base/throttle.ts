/**
 * Lets `max` pass within `interval` ms. The returned function answers how many it has held back since the
 * last one that passed, or undefined for one that is held back as well.
 */
export function throttle(now: () => number, max = 100, interval = 10_000): () => number | undefined {
  let since = Number.NEGATIVE_INFINITY
  let passed = 0
  let held = 0
  return () => {
    if (now() - since >= interval) {
      since = now()
      passed = 0
    }
    if (passed >= max) {
      held += 1
      return undefined
    }
    passed += 1
    const before = held
    held = 0
    return before
  }
}

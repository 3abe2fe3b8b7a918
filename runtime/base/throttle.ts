/** Lets `max` pass per `interval` ms. Answers how many it held back before, undefined to hold back. */
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

/** Takes all steps of some work, and answers what it comes to. */
export function inOneGo<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

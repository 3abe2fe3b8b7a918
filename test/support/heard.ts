/** What a test heard, in order; waits for what has not come yet. */
export type Heard<T> = {
  /** Takes one more. */
  readonly add: (value: T) => void
  /** Everything so far. */
  readonly all: readonly T[]
  /** The first one that fits, now or later, from where the last `next` left off; the test's own deadline ends the wait. */
  next(fits?: (value: T) => boolean): Promise<T>
}

/** A new, empty record. */
export function heard<T>(): Heard<T> {
  const all: T[] = []
  const looks = new Set<() => void>()
  let read = 0
  const add = (value: T): void => {
    all.push(value)
    for (const look of [...looks]) look()
  }
  const next = (fits: (value: T) => boolean = () => true): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        while (read < all.length) {
          const value = all[read] as T
          read += 1
          if (!fits(value)) continue
          looks.delete(look)
          return resolve(value)
        }
      }
      looks.add(look)
      look()
    })
  return { add, all, next }
}

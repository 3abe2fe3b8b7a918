/** How long requests are made: `ms`, then on until there are `least`, but no longer than `most` ms. */
export interface Stretch {
  readonly ms: number
  readonly least: number
  readonly most: number
}

/** Makes requests in all lanes at once, one after the other in each; resolves with how many. */
export async function drive(
  lanes: readonly (() => Promise<void>)[],
  { ms, least, most }: Stretch,
): Promise<number> {
  const start = performance.now()
  let count = 0
  const follow = async (request: () => Promise<void>): Promise<void> => {
    for (;;) {
      const passed = performance.now() - start
      if (passed >= most || (passed >= ms && count >= least)) return
      await request()
      count += 1
    }
  }
  await Promise.all(lanes.map(follow))
  return count
}

/** Run by the tests of worlds, with 40 calls and no clusters: they are clean. */
export const testedSeeds: readonly number[] = Array.from({ length: 10 }, (_, at) => at + 1)

/** Each showed a fault once, of the library or of the simulation: with so many calls, and maybe clusters. */
export const knownSeeds: readonly (readonly [seed: number, operations: number, clusters?: boolean])[] = [
  [15, 40],
  ...[23, 2357, 3277, 3363, 3757, 3868, 4765, 4840, 5072, 5224, 6067, 6891, 8566].map(
    (seed) => [seed, 200] as const,
  ),
  [33, 200, true],
  [2011, 200, false],
]

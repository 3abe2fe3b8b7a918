// In which order tests are tried: a little for every mutant first, then more for those that are left.

/** Milliseconds of tests that each mutant gets in a round: of those of its room, then of the others, too. */
export const rounds = { near: [250, 1_000, 4_000], far: [1_000, 4_000] }

/** Tests that take more milliseconds are tried with no mutant: each would cost what a hundred others do. */
export const longest = 6_000

/** Milliseconds that a test costs besides its own. */
const overhead = 15

/**
 * Which tests a mutant meets next: of those that execute it and have not been tried, up to `budget` ms (one at least), those first that
 * are quick and have killed others of its file. Answers a map from the path of a test file to tests.
 */
export function nextTests({ reaching, tried, kills, budget }) {
  const worth = (test) => (test.ms + overhead) / (1 + 3 * (kills.get(test.key) ?? 0))
  const left = reaching.filter(({ key }) => !tried.has(key)).sort((a, b) => worth(a) - worth(b))
  const files = new Map()
  let spent = 0
  for (const test of left) {
    if (spent > 0 && spent + test.ms > budget) break
    spent += test.ms + overhead
    files.set(test.path, [...(files.get(test.path) ?? []), test])
  }
  // as they stand in the file: the first that is not told of is the one that did not end
  for (const tests of files.values()) tests.sort((a, b) => a.index - b.index)
  return files
}

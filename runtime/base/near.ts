/** Longer words are skipped: the peer may have chosen them. */
const maxLength = 64
const maxWords = 2_000

/** The word probably meant: an alias's, or the nearest with at most a third of its letters changed. */
export function nearest(
  word: string,
  words: Iterable<string>,
  aliases: { readonly [alias: string]: string } = {},
): string | undefined {
  if (word.length > maxLength) return undefined
  let best: { readonly word: string; readonly changes: number } | undefined
  let looked = 0
  for (const candidate of words) {
    if (candidate === word || candidate.length > maxLength) continue
    if (Object.hasOwn(aliases, word) && aliases[word] === candidate) return candidate
    if (looked++ >= maxWords) break
    const allowed = Math.floor(Math.max(word.length, candidate.length) / 3)
    const changes = distance(word.toLowerCase(), candidate.toLowerCase())
    if (changes <= allowed && changes < (best?.changes ?? Number.POSITIVE_INFINITY))
      best = { word: candidate, changes }
  }
  return best?.word
}

/** For error messages: `an option among a, b`, and the word probably meant. */
export function among(
  kind: string,
  words: readonly string[],
  word: string,
  aliases: { readonly [alias: string]: string } = {},
): string {
  return `${kind} among ${words.join(', ')}${didYouMean(word, words, aliases)}`
}

/** ` (did you mean "x"?)`, or nothing where no word is near. */
export function didYouMean(
  word: string,
  words: Iterable<string>,
  aliases: { readonly [alias: string]: string } = {},
): string {
  const near = nearest(word, words, aliases)
  return near === undefined ? '' : ` (did you mean ${JSON.stringify(near)}?)`
}

/** Damerau-Levenshtein, by rows. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const changed = Number(from[i - 1] !== to[j - 1])
      const best = Math.min(at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + changed)
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next.push(isSwapped ? Math.min(best, at(before, j - 2) + 1) : best)
    }
    before = row
    row = next
  }
  return at(row, to.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}

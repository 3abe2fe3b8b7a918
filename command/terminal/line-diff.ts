/** Lines of one side times lines of the other that are compared; what is longer is shown as a whole. */
const mostWork = 4_000_000
/** Lines around a change that are shown. */
const around = 2

/** What became of one text in another, line by line: `- old`, `+ new`, and `  ` before lines that stayed. */
export function lineDiff(before: string, after: string): readonly string[] {
  if (before === after) return []
  const [old, next] = [before, after].map((text) => (text === '' ? [] : text.split('\n'))) as [
    string[],
    string[],
  ]
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1
  let end = 0
  while (end < Math.min(old.length, next.length) - start && old.at(-1 - end) === next.at(-1 - end)) end += 1
  const middle = changesOf(old.slice(start, old.length - end), next.slice(start, next.length - end))
  const same = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)
  return near([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))])
}

/** By the longest common subsequence. */
function changesOf(old: readonly string[], next: readonly string[]): string[] {
  if (old.length * next.length > mostWork)
    return [...old.map((line) => `- ${line}`), ...next.map((line) => `+ ${line}`)]
  const width = next.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = next.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: string[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      lines.push(`  ${old[i]}`)
      i += 1
      j += 1
    } else if (j === next.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`- ${old[i]}`)
      i += 1
    } else {
      lines.push(`+ ${next[j]}`)
      j += 1
    }
  }
  return lines
}

/** Only what is near a change. */
function near(lines: readonly string[]): string[] {
  const isChange = (line: string | undefined): boolean => line !== undefined && !line.startsWith('  ')
  const kept = lines.map((_, at) => lines.slice(Math.max(0, at - around), at + around + 1).some(isChange))
  return lines.flatMap((line, at) => {
    if (kept[at]) return [line]
    return kept[at - 1] === false ? [] : ['  ...']
  })
}

import { type Bug, bugs } from './bugs.js'
import { findBug, type Search } from './find.js'

/**
 * Looks for the bugs whose names have one of the words, two at a time; answers how many nobody finds. With
 * `--seeds N` it measures in how many of the first N seeds each is found.
 */
export async function lookForBugs(args: readonly string[], say: (line: string) => void): Promise<number> {
  const { words, seeds } = readArgs(args)
  const wanted = bugs.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
  if (wanted.length === 0) {
    say(`no planted bug is called so; there are:\n${bugs.map(({ name }) => `  ${name}`).join('\n')}`)
    return 1
  }
  const queue = [...wanted]
  let missed = 0
  const work = async (): Promise<void> => {
    for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) {
      const search = await findBug(bug, seeds === undefined ? {} : { seeds, all: true })
      if (search.seed === undefined) missed += 1
      say(seeds === undefined ? showSearch(bug, search) : showShare(bug, search))
    }
  }
  await Promise.all([work(), work()])
  say(`${wanted.length - missed} of ${wanted.length} planted bugs are found`)
  return missed
}

/** `--seeds N` may stand anywhere among the words. */
function readArgs(args: readonly string[]): { readonly words: readonly string[]; readonly seeds?: number } {
  const at = args.indexOf('--seeds')
  if (at === -1) return { words: args }
  const seeds = Number(args[at + 1])
  if (!(Number.isInteger(seeds) && seeds > 0))
    throw new Error(`--planted --seeds: expected how many, as in --seeds 100, got ${args[at + 1]}`)
  return { words: [...args.slice(0, at), ...args.slice(at + 2)], seeds }
}

function showShare({ name, checker }: Bug, { shown, tried, others }: Search): string {
  const first = shown.length === 0 ? '' : `, first by seed ${Math.min(...shown)}`
  const rest = others.size === 0 ? '' : `; also ${[...others].join('; ')}`
  return `${shown.length} of ${tried}  ${name}: ${checker}${first}${rest}`
}

/** What came of one, for people. */
export function showSearch({ name, what, checker, kind, seed: known }: Bug, search: Search): string {
  const { seed, wrong, tried, others } = search
  const wanted = kind === undefined ? checker : `${checker}: ${kind}`
  if (seed === undefined || wrong === undefined)
    return [
      `MISSED ${name}: ${what}`,
      `    ${tried} seeds without ${wanted}`,
      ...[...others].map((other) => `    but ${other}`),
    ].join('\n')
  const moved = seed === known || known === undefined ? '' : `, no longer by ${known}`
  return `found  ${name} by seed ${seed}${moved}: ${wrong.checker}: ${wrong.kind}: ${wrong.message}`
}

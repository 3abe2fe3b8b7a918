import { type Bug, bugs } from './bugs.js'
import { findBug, type Search } from './find.js'

/** Looks for the bugs whose names have one of the words, two at a time; answers how many nobody finds. */
export async function lookForBugs(words: readonly string[], say: (line: string) => void): Promise<number> {
  const wanted = bugs.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
  if (wanted.length === 0) {
    say(`no planted bug is called so; there are:\n${bugs.map(({ name }) => `  ${name}`).join('\n')}`)
    return 1
  }
  const queue = [...wanted]
  let missed = 0
  const work = async (): Promise<void> => {
    for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) {
      const search = await findBug(bug)
      if (search.seed === undefined) missed += 1
      say(showSearch(bug, search))
    }
  }
  await Promise.all([work(), work()])
  say(`${wanted.length - missed} of ${wanted.length} planted bugs are found`)
  return missed
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

import type { Outcome } from './acts.js'

/** Writes for people: plain text, with colours on a terminal only. */
export interface Screen {
  heading(text: string): void
  line(text: string): void
  tree(text: string): void
  outcome(outcome: Outcome, number: number): void
}

/** A screen on standard output, or none when somebody only wants the facts. */
export function createScreen(quiet: boolean): Screen {
  const colours = process.stdout.isTTY === true
  const paint = (code: number, text: string): string => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
  const line = (text: string): void => {
    if (!quiet) console.log(text)
  }
  const facts = (label: string, values: readonly string[], code: number): void => {
    for (const [i, value] of values.entries())
      line(`   ${(i === 0 ? label : '').padEnd(12)}${paint(code, value)}`)
  }
  return {
    line,
    heading: (text) => line(`\n${paint(1, text)}`),
    tree: (text) => line(text.replace(/^/gm, '   ')),
    outcome(
      { title, died, strays, callers, connections, restarted, readyMs, counters, restartsLeft, tree },
      number,
    ) {
      line(`\n${paint(1, `${number}. ${title}`)}`)
      facts('died', died, 31)
      facts('stray', strays, 31)
      facts('caller got', callers, 33)
      facts('connection', connections, 36)
      facts('restarted', restarted, 32)
      facts('ready again', [`after ${readyMs} ms`], 32)
      facts(
        'left',
        Object.entries(restartsLeft).map(([name, left]) => `${name}: ${left} of 3 restarts`),
        36,
      )
      facts('counters', [counters.join(', ')], 36)
      line('')
      line(tree.replace(/^/gm, '   '))
    },
  }
}

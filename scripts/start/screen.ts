import type { Outcome } from './acts.js'

/** Writes for people: plain text, with colours on a terminal only. */
export interface Screen {
  heading(text: string): void
  line(text: string): void
  /** A tree, with what is new marked. */
  tree(lines: readonly { readonly line: string; readonly isNew: boolean }[]): void
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
    tree(lines) {
      for (const { line: text, isNew } of lines) line(isNew ? paint(32, ` * ${text}`) : `   ${text}`)
    },
    outcome({ title, died, strays, callers, connections, changed, readyMs, counters, restartsLeft }, number) {
      line(`\n${paint(1, `${number}. ${title}`)}`)
      facts('died', died, 31)
      facts('stray', strays, 31)
      facts('caller got', callers, 33)
      facts('connection', connections, 36)
      facts('changed', changed.length === 0 ? ['nothing: no part of it ended but the call'] : changed, 32)
      facts(
        'left',
        Object.entries(restartsLeft).map(([name, left]) => `${name}: ${left} of 3 restarts`),
        36,
      )
      facts(
        'so',
        [`all are back after ${readyMs} ms; the counters of the three go on: ${counters.join(', ')}`],
        32,
      )
    },
  }
}

type Choose = (bug: string | undefined) => void

const choices: Choose[] = []
const acting: { bug?: string | undefined } = {}

/** For modules that have bugs planted: chooses among their editions now, and whenever another bug is to act. */
export function choose(choice: Choose): void {
  choices.push(choice)
  choice(acting.bug)
}

/** Has this planted bug act, and no other one. */
export function switchTo(bug: string | undefined): void {
  acting.bug = bug
  for (const choice of choices) choice(bug)
}

import { inspect } from 'node:util'

/** An error that no code caught, as this process's own listeners saw it. */
export type Stray = {
  readonly kind: 'exception' | 'rejection'
  readonly error: unknown
}

/** Gathers the stray errors of one test, or of the time between tests. */
export type StrayCollector = { readonly seen: Stray[] }

const between = { tests: { seen: [] } as StrayCollector }
const current = { collector: between.tests }

process.on('uncaughtException', (error, origin) => {
  if (origin === 'uncaughtException') current.collector.seen.push({ kind: 'exception', error })
})
process.on('unhandledRejection', (error) => {
  current.collector.seen.push({ kind: 'rejection', error })
})

/** Gives the stray errors that arrive from now on to the returned collector. */
export function collectStrays(): StrayCollector {
  current.collector = { seen: [] }
  return current.collector
}

/** Ends a collection; later stray errors belong to no test. */
export function endCollection(): void {
  current.collector = between.tests
}

/** Forgets the stray errors that arrived while no test ran: another test file begins. */
export function forgetStrays(): void {
  between.tests = { seen: [] }
  endCollection()
}

/** The stray errors that arrived while no test ran. */
export function straysBetweenTests(): readonly Stray[] {
  return between.tests.seen
}

/** Shows a stray error with its stack, indented for a message. */
export function showStray({ kind, error }: Stray): string {
  const name = kind === 'exception' ? 'uncaught exception' : 'unhandled rejection'
  return `${name}: ${inspect(error)}`.split('\n').join('\n    ')
}

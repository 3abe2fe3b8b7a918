import { appendFileSync } from 'node:fs'

/** One fact a test file tells the runner. */
export type Fact =
  | { type: 'test'; name: string; ok: boolean; ms: number }
  | { type: 'skip'; name: string; reason: string }
  | { type: 'problem'; text: string }
  | { type: 'child'; pid: number }
  | { type: 'childExit'; pid: number }
  | { type: 'end'; cpu: number }

/** Where facts go when the runner listens; taken out of the environment so that programs under test never see it. */
const runner = { path: takeVariable('CADUCEUS_TEST_REPORT') }

/** Facts go to another file from now on: that of the test file which runs next in this process. */
export function reportTo(path: string): void {
  runner.path = path
}

/** A folder that all test files of a run share; undefined where a file runs by itself. */
export const runFolder = takeVariable('CADUCEUS_TEST_RUN')

/** True when the runner asked, with --trace-leaks, where leaked resources were made. */
export const traceLeaks = takeVariable('CADUCEUS_TRACE_LEAKS') !== undefined

/** Tells the runner a fact; without a runner it is lost, since uvu prints the outcome anyway. */
export function report(fact: Fact): void {
  if (runner.path !== undefined) appendFileSync(runner.path, `${JSON.stringify(fact)}\n`)
}

/** True when the runner wants to know only whether a test fails, not which ones. */
export const endsAtFirstFailure = takeVariable('CADUCEUS_TEST_FIRST') !== undefined

/** Only tests whose name has this part are run: all, where nothing is said. */
export const wanted = takeVariable('CADUCEUS_TEST_ONLY') ?? ''

/** Which tests of a file are run: those of its tier, those that `test.slow` says belong to the second, or all. */
export const part = takeVariable('CADUCEUS_TEST_PART') as 'fast' | 'slow' | undefined

function takeVariable(name: string): string | undefined {
  const value = process.env[name]
  delete process.env[name]
  return value
}

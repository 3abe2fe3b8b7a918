import { subscribe } from 'node:diagnostics_channel'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers'
import { inspect } from 'node:util'
import { suite as uvuSuite } from 'uvu'
import { totalCpu, whenOver } from './allowance.mjs'
import { findLeaks, rememberBaseline } from './leaks.js'
import { endsAtFirstFailure, part, report, wanted } from './report.js'
import {
  collectStrays,
  endCollection,
  forgetStrays,
  type Stray,
  showStray,
  straysBetweenTests,
} from './strays.js'

/** What a test body is given. */
export type TestContext = {
  /** Aborts when the test's time is over. */
  readonly signal: AbortSignal
  /** Stray errors seen so far by listeners of the test itself; see `expectStray`. */
  readonly strays: readonly Stray[]
  /** Runs `undo` when the test has ended, also after a failure; the last one registered runs first. */
  after(undo: () => unknown): void
  /** Declares that exactly `count` uncaught errors (without a number: one or more) are part of this test. */
  expectStray(count?: number): void
}

/** `timeout` in ms, 5,000 by default; a busy machine is given more. */
export type TestOptions = { readonly timeout?: number }

/** Defines tests of one area; `run()` at the end of the file starts them. */
export type Suite = {
  (promise: string, body: (t: TestContext) => unknown, options?: TestOptions): void
  /** A test of the second tier, for its time, in a file of the fast one. */
  slow(promise: string, body: (t: TestContext) => unknown, options?: TestOptions): void
  /** Leaves a test out and says why; the runner prints it. */
  skip(promise: string, reason: string): void
  run(): void
}

const defaultTimeout = 5_000
const leakGrace = 500
const file = { ...newFile(), cpu: 0 }

rememberBaseline()
process.on('warning', ({ name, message }) => {
  if (name === 'MaxListenersExceededWarning') file.problems.push(`warning: ${message}`)
})
// An event that the connection machine of a client does not expect is a bug, whatever else the test is about.
subscribe('caduceus.client.warning', (message) => {
  const { client, type, reason } = message as { client: string; type: string; reason: string }
  if (type === 'unexpected_event' && client !== 'expects the unexpected')
    file.problems.push(`warning: ${client}: ${reason}`)
})
process.on('exit', () => {
  if (file.ended || file.tests > 0 || file.onEnd) return
  console.error('no test ran: is test.run() called?')
  process.exitCode = 1
})

/** Starts a suite on top of uvu: every test gets a deadline, cleanups, and fails on errors that nobody caught. `defaults` hold for all its tests. */
export function suite(area: string, defaults: TestOptions = {}): Suite {
  const inner = uvuSuite(area)
  file.suites += 1
  const of =
    (own: typeof part): Suite['slow'] =>
    (promise, body, options = {}) => {
      if (part !== undefined && part !== own) return
      if (!`${area}: ${promise}`.includes(wanted)) return
      inner(promise, () =>
        runTest(`${area}: ${promise}`, body, options.timeout ?? defaults.timeout ?? defaultTimeout),
      )
    }
  const skip = (promise: string, reason: string) => {
    report({ type: 'skip', name: `${area}: ${promise}`, reason })
    file.skipped += 1
    inner.skip()
  }
  const run = () => {
    file.started += 1
    file.running += 1
    inner.after(endSuite)
    inner.run()
  }
  return Object.assign(of('fast'), { slow: of('slow'), skip, run })
}

/** Which tests of a file run, where not all of them do. */
export interface Choice {
  /** Milliseconds that the test may take; 0 leaves it out. */
  begin(name: string): number
  end(name: string, ok: boolean): void
}

/**
 * Begins another test file in this process. The function that is answered resolves when its tests have run and what it has left
 * behind is told; it is given the error that kept the file from being loaded.
 */
export function beginFile(choice?: Choice): (error?: unknown) => Promise<void> {
  let ended = (): void => {}
  const end = new Promise<void>((resolve) => {
    ended = resolve
  })
  Object.assign(file, newFile(), { onEnd: ended, choice })
  forgetStrays()
  rememberBaseline()
  return async (error) => {
    if (error !== undefined) file.problems.push(`could not be loaded: ${inspect(error)}`)
    if (file.started === 0 || error !== undefined) await endFile()
    return end
  }
}

interface TestFile {
  suites: number
  started: number
  running: number
  tests: number
  skipped: number
  failed: number
  ended: boolean
  /** CPU time of the process, in ms, when the file began. */
  readonly cpu: number
  readonly problems: string[]
  /** Where other files share the process: told when this one has ended. Otherwise the process ends with it. */
  onEnd: (() => void) | undefined
  readonly choice: Choice | undefined
}

function newFile(): TestFile {
  return {
    suites: 0,
    started: 0,
    running: 0,
    tests: 0,
    skipped: 0,
    failed: 0,
    ended: false,
    cpu: totalCpu(),
    problems: [],
    onEnd: undefined,
    choice: undefined,
  }
}

async function runTest(name: string, body: (t: TestContext) => unknown, most: number): Promise<void> {
  const timeout = Math.min(most, file.choice?.begin(name) ?? most)
  if (timeout === 0) return
  const start = performance.now()
  const controller = new AbortController()
  const strays = collectStrays()
  const undos: (() => unknown)[] = []
  const expected: { strays: number | 'some' } = { strays: 0 }
  const context: TestContext = {
    signal: controller.signal,
    strays: strays.seen,
    after: (undo) => undos.push(undo),
    expectStray: (count) => {
      expected.strays = count ?? 'some'
    },
  }
  const failures = await attempt(() => body(context), timeout, 'the test', controller)
  for (const undo of undos.reverse()) failures.push(...(await attempt(undo, defaultTimeout, 'a cleanup')))
  await turn() // rejections surface after the microtasks of a turn
  await turn()
  endCollection()
  failures.push(...judgeStrays(strays.seen, expected.strays))
  file.tests += 1
  if (failures.length > 0) file.failed += 1
  report({ type: 'test', name, ok: failures.length === 0, ms: Math.round(performance.now() - start) })
  file.choice?.end(name, failures.length === 0)
  if (failures.length > 0 && endsAtFirstFailure) process.exit(1)
  if (failures.length > 0) throw toOneError(failures)
}

async function attempt(
  work: () => unknown,
  timeout: number,
  what: string,
  controller = new AbortController(),
): Promise<unknown[]> {
  let callOff = (): void => {}
  const deadline = new Promise<never>((_, reject) => {
    callOff = whenOver(timeout, () => {
      const error = new Error(`${what} did not end within ${timeout} ms`)
      reject(error)
      controller.abort(error)
    })
  })
  try {
    await Promise.race([(async () => work())(), deadline])
    return []
  } catch (error) {
    return [error]
  } finally {
    callOff()
  }
}

function judgeStrays(seen: readonly Stray[], expected: number | 'some'): Error[] {
  const fits = expected === 'some' ? seen.length > 0 : seen.length === expected
  if (fits) return []
  const wanted = expected === 'some' ? 'at least one' : String(expected)
  const list = seen.map((stray) => `\n    ${showStray(stray)}`).join('')
  return [new Error(`expected ${wanted} stray error(s), saw ${seen.length}${list}`)]
}

/** uvu prints the message and stack of one Error; what it would not print is written here. */
function toOneError(failures: unknown[]): Error {
  const [first, ...rest] = failures
  for (const failure of rest) console.error(inspect(failure))
  if (first instanceof Error && (first.cause !== undefined || first instanceof AggregateError))
    console.error(inspect(first))
  return first instanceof Error ? first : new Error(`a value that is no Error was thrown: ${inspect(first)}`)
}

function endSuite(): void {
  file.running -= 1
  if (file.running === 0) setImmediate(endFile) // uvu prints its totals in the microtasks before
}

async function endFile(): Promise<void> {
  if (file.ended) return
  file.ended = true
  // unheard, a rejection here would end the process as if all were well
  const leaks = await findLeaks(leakGrace).catch((error) => [`nobody knows what: ${inspect(error)}`])
  const problems = [
    ...straysBetweenTests().map((stray) => `stray error while no test ran: ${showStray(stray)}`),
    ...leaks.map((leak) => `leaked: ${leak}`),
    ...file.problems,
  ]
  if (file.tests + file.skipped === 0 && file.choice === undefined)
    problems.push(file.started === 0 ? 'no test ran: is test.run() called?' : 'no test ran')
  if (file.started < file.suites)
    problems.push(`${file.suites - file.started} suite(s) of this file never ran`)
  for (const text of problems) {
    report({ type: 'problem', text })
    console.error(text)
  }
  report({ type: 'end', cpu: totalCpu() - file.cpu })
  if (file.onEnd) return file.onEnd()
  process.exit(problems.length > 0 || file.failed > 0 ? 1 : 0)
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

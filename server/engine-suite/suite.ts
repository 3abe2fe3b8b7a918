import { messageTests } from './messages.js'
import { nodeTests } from './nodes.js'
import { outageTests } from './outages.js'
import { recordTests } from './records.js'
import { restoringTests } from './restored.js'
import { sessionTests } from './sessions.js'
import { streamTests } from './streams.js'
import { taskTests } from './tasks.js'
import { valueTests } from './values.js'
import type { DefineTrial, EngineBench, EngineLack } from './trial.js'

/** How tests are defined: `test` of `node:test` or uvu, or any other that takes a name and a function. */
export interface DefineEngineTest {
  (name: string, fn: () => Promise<void>): unknown
  /** Names what is left out. */
  skip?(name: string, fn: () => Promise<void>): unknown
}

/** What the suite leaves out. */
export interface EngineSuiteOptions {
  /** Tests of it are skipped by name. Default: nothing. */
  readonly lacks?: readonly EngineLack[]
}

/**
 * What every `ClusterEngine` keeps to, as tests: whose a session is, what is kept and for how long, what
 * nodes say to each other, how an engine is away. `start` is called in each test, for an engine that has
 * nothing yet. A test takes 20 s at most, and most a few ms; they need no order, and may run at once if their
 * engines do not meet.
 */
export function engineSuite(
  test: DefineEngineTest,
  start: () => EngineBench | Promise<EngineBench>,
  { lacks = [] }: EngineSuiteOptions = {},
): void {
  const define: DefineTrial = (name, body, needs) => {
    const fn = async (): Promise<void> => {
      const bench = await start()
      const undo = [() => bench.close?.()]
      try {
        await body({ bench, undo })
      } finally {
        for (const each of undo.reverse()) await each()
      }
    }
    if (needs === undefined || !lacks.includes(needs)) test(name, fn)
    else test.skip?.(`${name} (${needs})`, fn)
  }
  for (const part of parts) part(define)
}

const parts = Object.freeze([
  ...[
    nodeTests,
    sessionTests,
    recordTests,
    taskTests,
    restoringTests,
    messageTests,
    streamTests,
    valueTests,
    outageTests,
  ],
])

// Runs tests of the files that the runner names on its fourth pipe, one order after another, in this one process: those that are
// asked for, with the mutant that is on, or all, with the mutants that each of them executes.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { takeOrders } from '../../test/support/orders.js'
import { statePath } from './switch.mjs'

const state = globalThis[Symbol.for('caduceus mutant')]
let orders = 0

await takeOrders(({ file: { path, on, only, looks }, folder }) => {
  orders += 1
  setState(looks ? { on: 0, log: join(folder, 'numbers') } : { on })
  const choice = looks ? gather(folder) : choose(only)
  // what tests import stays loaded; they themselves begin anew
  return { href: `${pathToFileURL(path).href}?order=${orders}`, choice, close: choice.close }
})

/** Those with a limit in `only`, until one has failed. */
function choose(only) {
  let failed = false
  return {
    begin: (name) => (failed ? 0 : (only[name] ?? 0)),
    end: (_, ok) => {
      failed ||= !ok
    },
  }
}

/** All, and writes down which numbers each comes by, and which the loading of modules; programs that a test starts count for it. */
function gather(folder) {
  const loading = new Set()
  const tests = {}
  const log = join(folder, 'numbers')
  const current = { name: undefined, start: 0, seen: loading }
  const take = () => {
    if (existsSync(log))
      for (const line of readFileSync(log, 'utf8').split('\n')) if (line) current.seen.add(+line)
    rmSync(log, { force: true })
  }
  // nobody can end it: what a test has begun may go on until the next one begins
  const settle = () => {
    take()
    if (current.name !== undefined) tests[current.name].numbers = [...current.seen]
  }
  state.seen = (number) => current.seen.add(number)
  return {
    begin(name) {
      settle()
      Object.assign(current, { name, start: performance.now(), seen: new Set(tests[name]?.numbers) })
      tests[name] ??= { ok: true, ms: 0, numbers: [] }
      return Number.POSITIVE_INFINITY
    },
    end(name, ok) {
      tests[name].ok &&= ok
      tests[name].ms += performance.now() - current.start
    },
    close() {
      settle()
      state.seen = undefined
      writeFileSync(join(folder, 'reach.json'), JSON.stringify({ loading: [...loading], tests }))
    },
  }
}

function setState(next) {
  state.on = next.on
  const text = JSON.stringify(next)
  if (readFileSync(statePath, 'utf8') !== text) writeFileSync(statePath, text)
}

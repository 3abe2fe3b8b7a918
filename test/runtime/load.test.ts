import * as assert from 'uvu/assert'
import { createFakeClock } from '../../runtime/fake-clock.js'
import { patiently } from '../../runtime/load.js'
import { suite } from '../support/suite.js'

const test = suite('modules that are loaded when they are needed')
const { signal } = new AbortController()
const shortage = () => Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'open' })

/** Asks for a module whose loads fail with these errors, one after the other, until there are no more. */
async function load(errors: readonly Error[]) {
  const clock = createFakeClock()
  const left = [...errors]
  let loads = 0
  let outcome: unknown
  const loading = async () => {
    loads += 1
    const error = left.shift()
    if (error !== undefined) throw error
    return 'loaded'
  }
  const settled = patiently(loading, { clock, signal }).then(
    (module) => {
      outcome = module
    },
    (error: unknown) => {
      outcome = error
    },
  )
  for (let i = 0; i < 10 && outcome === undefined; i++) await clock.advance(250)
  await settled
  return { outcome, loads, pending: clock.pending }
}

test('want of file descriptors is waited for', async () => {
  assert.equal(await load([shortage(), shortage(), shortage()]), { outcome: 'loaded', loads: 4, pending: 0 })
})

test('a module that is not there, or is broken, is told at once', async () => {
  for (const error of [
    Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND' }),
    new SyntaxError('Unexpected token'),
  ])
    assert.equal(await load([error]), { outcome: error, loads: 1, pending: 0 })
})

test('an error that Node has kept is not waited for', async () => {
  const kept = shortage()
  assert.equal(await load([kept, kept]), { outcome: kept, loads: 2, pending: 0 })
})

test.run()

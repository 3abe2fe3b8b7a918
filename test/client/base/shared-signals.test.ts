import { getEventListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { startPool } from '../pool/_pool.js'
import { rejection, watchNear } from '../_raw.js'

const test = suite('one signal for many calls')

/** A signal, and how many listen to it. */
function counted() {
  const controller = new AbortController()
  const { signal } = controller
  return { controller, signal, count: () => getEventListeners(signal, 'abort').length }
}

test.slow('a thousand calls of one client share one abort listener', async (t) => {
  const { client } = watchNear(t)
  const { signal, count } = counted()
  const calls = Array.from({ length: 1_000 }, () => client.callTool('count', {}, { signal }))
  assert.is(count(), 1)
  await Promise.all(calls)
  assert.is(count(), 0)
})

test('a shared signal aborts all its calls, and later ones at once', async (t) => {
  const { client } = watchNear(t)
  const { controller, signal } = counted()
  const calls = Array.from({ length: 20 }, () => client.callTool('never', {}, { signal }))
  controller.abort(new Error('enough'))
  for (const call of [...calls, client.callTool('count', {}, { signal })]) {
    const { code, message } = await rejection(call)
    assert.equal([code, message], ['CANCELLED', 'tools/call: the caller gave it up (enough)'])
  }
})

test('a thousand waits for a pool member share one abort listener', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const { controller, signal, count } = counted()
  const lease = await pool.checkout()
  const calls = Array.from({ length: 1_000 }, () => pool.callTool('count', {}, { signal }))
  assert.is(count(), 1)
  controller.abort()
  for (const call of calls) assert.is((await rejection(call)).code, 'CANCELLED')
  lease.release()
})

test('many clients on one signal cause no leak warning', async (t) => {
  const { signal, count } = counted()
  const warned: Error[] = []
  const note = (warning: Error) => warned.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  // Node warns of more than ten listeners
  const clients = Array.from({ length: 12 }, () => watchNear(t).client)
  const ready = clients.map((client) => client.ready({ signal }))
  assert.is(count(), 12)
  await Promise.all(ready)
  assert.is(count(), 0)
  await new Promise(setImmediate) // Node warns in a later turn
  assert.equal(warned, [])
})

test.run()

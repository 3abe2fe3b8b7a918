import { getEventListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { startPool, startProgramPool } from './_pool.js'
import { rejection } from '../_raw.js'

const test = suite('checkouts of a pool')

test('a member that is checked out serves nobody else; calls go to the others', async (t) => {
  const { pool } = await startPool(t)
  const lease = await pool.checkout()
  const name = (await lease.client.callTool('who')).text
  for (let call = 0; call < 4; call++) assert.is.not((await pool.callTool('who')).text, name)
  assert.is(pool.members().find(({ name }) => name === lease.member)?.status, 'checked_out')
  lease.release()
  lease.release()
  const seen = new Set<string>()
  for (let call = 0; call < 4; call++) seen.add((await pool.callTool('who')).text)
  assert.is(seen.size, 2)
})

test('with all members busy a checkout rejects with TIMEOUT, unsent', async (t) => {
  const { pool } = await startPool(t)
  const leases = [await pool.checkout(), await pool.checkout()]
  const error = await rejection(pool.checkout({ timeout: 30 }))
  assert.equal([error.code, error.retryable, error.data], ['TIMEOUT', true, { sent: false }])
  assert.match(error.message, 'pool-1 checked_out')
  const call = await rejection(pool.callTool('count', {}, { timeout: 30 }))
  assert.equal([call.code, call.data], ['TIMEOUT', { sent: false }])
  assert.is(pool.inspect().waiting, 0)
  for (const lease of leases) lease.release()
  ;(await pool.checkout({ timeout: 30 })).release()
})

test('waiting checkouts get members in order', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const lease = await pool.checkout()
  const order: string[] = []
  const waits = [
    pool.checkout().then((next) => {
      order.push('checkout')
      next.release()
    }),
    pool.callTool('count').then(() => order.push('call')),
    pool.transaction(() => order.push('transaction')),
  ]
  assert.is(pool.inspect().waiting, 3)
  lease.release()
  await Promise.all(waits)
  assert.equal(order, ['checkout', 'call', 'transaction'])
})

test('a checkout waits for the open calls of its member, which takes no new ones', async (t) => {
  const { pool, said } = await startPool(t, { size: 1 })
  const late = pool.callTool('late', { after: 50 })
  await said.next((line) => line === 'got tools/call late')
  const done: string[] = []
  const checkout = pool.checkout().then((lease) => {
    done.push('checkout')
    lease.release()
  })
  const call = pool.callTool('count').then(() => done.push('call'))
  void late.then(() => done.push('late'))
  await Promise.all([late, checkout, call])
  assert.equal(done, ['late', 'checkout', 'call'])
})

test('a checkout that gives up while its member is busy returns the member to others', async (t) => {
  const { pool, said } = await startPool(t, { size: 1 })
  const hang = pool.callTool('hang', {}, { timeout: 60_000 })
  await said.next((line) => line === 'got tools/call hang')
  assert.is((await rejection(pool.checkout({ timeout: 30 }))).code, 'TIMEOUT')
  assert.is((await pool.callTool('count')).text, '1')
  void hang
})

test('a checkout that waits for a member which is lost gets another', async (t) => {
  const { pool, said } = await startProgramPool(t, { size: 1 })
  const pid = Number((await pool.callTool('pid')).text)
  const hang = pool.callTool('hang').catch((error: Error) => error)
  await said.next((line) => line === 'got tools/call hang')
  const checkout = pool.checkout()
  process.kill(pid, 'SIGKILL')
  await hang
  const lease = await checkout
  assert.is.not(Number((await lease.client.callTool('pid')).text), pid)
  lease.release()
})

test.slow('a member that dies while checked out is not lent again before its release', async (t) => {
  const { pool, event } = await startProgramPool(t, { size: 1 })
  const lease = await pool.checkout()
  const pid = Number((await lease.client.callTool('pid')).text)
  const call = lease.client.callTool('die').catch((error: Error) => error)
  await event('lost')
  assert.instance(await call, Error)
  await event('ready')
  const waits = pool.callTool('pid')
  assert.is(pool.inspect().waiting, 1)
  lease.release()
  assert.is.not(Number((await waits).text), pid)
})

test('a shared checkout leaves its member to others and counts as one open call', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const lease = await pool.checkout({ exclusive: false })
  assert.is(pool.members()[0]?.pending, 1)
  assert.is((await pool.callTool('count')).text, '1')
  assert.is((await lease.client.callTool('count')).text, '2')
  lease[Symbol.dispose]()
  assert.is(pool.members()[0]?.pending, 0)
})

test('a transaction releases its member also when it throws', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  assert.is(await pool.transaction(async (client) => (await client.callTool('count')).text), '1')
  const error = await rejection(
    pool.transaction(() => {
      throw new Error('a bug')
    }),
  )
  assert.is(error.message, 'a bug')
  assert.is((await pool.callTool('count')).text, '2')
})

test('a signal ends the wait of a checkout, and of a call', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const lease = await pool.checkout()
  const controller = new AbortController()
  const waits = [
    pool.checkout({ signal: controller.signal }),
    pool.callTool('count', {}, { signal: controller.signal }),
  ].map(rejection)
  controller.abort(new Error('enough'))
  for (const error of await Promise.all(waits)) {
    assert.is(error.code, 'CANCELLED')
    assert.match(error.message, 'enough')
  }
  assert.is((await rejection(pool.checkout({ signal: controller.signal }))).code, 'CANCELLED')
  lease.release()
  assert.is((await pool.callTool('count')).text, '1')
})

test('the number of waiting calls is bounded', async (t) => {
  const { pool } = await startPool(t, { size: 1, maxWaiting: 1 })
  const lease = await pool.checkout()
  const first = pool.checkout()
  assert.equal((await rejection(pool.callTool('count'))).code, 'QUEUE_FULL')
  lease.release()
  ;(await first).release()
})

for (const [field, options] of [
  ['options', 5],
  ['exclusive', { exclusive: 1 }],
  ['timeout', { timeout: 0 }],
  ['signal', { signal: {} }],
  ['member', { member: 'pool-1' }],
] as const) {
  test(`a wrong option of a checkout is named: ${field}`, async (t) => {
    const { pool } = await startPool(t, { size: 1 })
    const error = await rejection(pool.checkout(options as never))
    assert.equal([error.code, (error.data as { field: string }).field], ['BAD_OPTION', field])
  })
}

test('a call that does not wait rejects at once if no member is free', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const lease = await pool.checkout()
  const error = await rejection(pool.callTool('count', {}, { wait: false }))
  assert.equal([error.code, error.data, error.retryable], ['NOT_READY', { sent: false }, true])
  assert.is(error.message, 'tools/call count: no member of pool is free (pool-1 checked_out)')
  assert.is(pool.inspect().waiting, 0)
  lease.release()
  assert.is((await pool.callTool('count', {}, { wait: false })).text, '1')
})

test('a checkout that waited leaves no listener on the signal of its caller', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const { signal } = new AbortController()
  const first = await pool.checkout()
  const second = pool.checkout({ signal })
  first.release()
  ;(await second).release()
  assert.equal(getEventListeners(signal, 'abort'), [])
})

test.run()

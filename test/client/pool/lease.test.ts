import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { createFakeClock } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { startPool } from './_pool.js'
import { rejection } from '../_raw.js'

const test = suite('leases of a pool that end')

test('S073: a lease past its time is taken back: calls cancelled, next holder served', async (t) => {
  const { pool, said, event } = await startPool(t, { size: 1, maxLease: 200 })
  const lease = await pool.checkout()
  const next = pool.checkout({ timeout: 60_000, maxLease: Number.POSITIVE_INFINITY })
  const call = rejection(lease.client.callTool('hang'))
  await said.next((line) => line === 'got tools/call hang')
  const error = await call
  assert.instance(error, ClientError)
  assert.equal([error.code, error.data, error.retryable], ['LEASE_EXPIRED', { sent: true }, false])
  assert.match(error.message, 'tools/call: the lease of pool-1 has ended: it was not released within 200 ms')
  await said.next((line) => line === 'got notifications/cancelled')
  const { reason } = await event('expired', 'pool-1')
  assert.is((reason as ClientError).code, 'LEASE_EXPIRED')
  const late = await rejection(lease.client.callTool('count'))
  assert.equal([late.code, late.data], ['LEASE_EXPIRED', { sent: false }])
  assert.is((await rejection(lease.client.notify('custom/news'))).code, 'LEASE_EXPIRED')
  const second = await next
  // the first holder has nothing left to give back
  lease.release()
  assert.is(pool.members()[0]?.status, 'checked_out')
  assert.is((await second.client.callTool('count')).text, '1')
  second.release()
  assert.equal([pool.members()[0]?.status, pool.members()[0]?.pending], ['ready', 0])
})

test('a lease that is released in time leaves no timer and is not taken back later', async (t) => {
  const clock = createFakeClock()
  const { pool, events } = await startPool(t, { size: 1, maxLease: 1_000, clock })
  await pool.callTool('count') // what watches over calls has a timer of its own from then on
  const before = clock.pending
  const lease = await pool.checkout()
  assert.is(clock.pending, before + 1)
  assert.is((await lease.client.callTool('count')).text, '2')
  lease.release()
  assert.is(clock.pending, before)
  await clock.advance(5_000)
  assert.not(events.all.some(({ type }) => type === 'expired'))
})

test('within a lease, the signal gives CANCELLED and a wrong option is named', async (t) => {
  const { pool, said } = await startPool(t, { size: 1, maxLease: 60_000 })
  await pool.transaction(async (client) => {
    const controller = new AbortController()
    const call = rejection(client.callTool('hang', {}, { signal: controller.signal }))
    await said.next((line) => line === 'got tools/call hang')
    controller.abort()
    assert.is((await call).code, 'CANCELLED')
    assert.is((await rejection(client.callTool('count', {}, { timeout: -1 }))).code, 'BAD_OPTION')
    assert.is((await client.callTool('count')).text, '1')
  })
})

test('a pool that is closed while a member is checked out keeps no timer for that', async (t) => {
  const { pool } = await startPool(t, { size: 1, maxLease: 2 ** 30 })
  const lease = await pool.checkout()
  await pool.close()
  assert.is((await rejection(lease.client.callTool('count'))).code, 'CLOSED')
  lease.release()
})

test.run()

import * as assert from 'uvu/assert'
import { startClientPool } from 'caduceus/client'
import { suite } from '../../support/suite.js'
import { startPool } from './_pool.js'
import { raw, rejection } from '../_raw.js'

const test = suite('options of a pool')

for (const [field, options] of [
  ['options', undefined],
  ['transport', { transport: 'stdio' }],
  ['size', { size: 0 }],
  ['min', { size: 2, min: 3 }],
  ['min', { min: -1 }],
  ['readyTimeout', { readyTimeout: '1' }],
  ['strategy', { strategy: 'fastest' }],
  ['name', { name: '' }],
  ['client', { client: 1 }],
  ['client.transport', { client: { transport: raw() } }],
  ['client.timeout', { client: { timeout: -1 } }],
  ['checkoutTimeout', { checkoutTimeout: 0 }],
  ['maxLease', { maxLease: 0 }],
  ['maxWaiting', { maxWaiting: 0.5 }],
  ['health.every', { health: { every: 0 } }],
  ['health.misses', { health: { misses: 0 } }],
  ['health', { health: true }],
  ['random', { random: 4 }],
  ['registry', { registry: 1 }],
  ['members', { members: [] }],
] as const) {
  test(`a wrong option is refused in the caller: ${field} of ${JSON.stringify(options)}`, async () => {
    const given = options === undefined ? options : { transport: raw(), ...options }
    const error = await rejection(startClientPool(given as never))
    assert.equal([error.code, (error.data as { field: string }).field], ['BAD_OPTION', field])
  })
}

test('a pool name taken in the registry is refused', async (t) => {
  const { pool } = await startPool(t, { size: 1 })
  const error = await rejection(startClientPool({ transport: raw(), registry: pool.registry, logger: false }))
  assert.equal([error.code, (error.data as { field: string }).field], ['BAD_OPTION', 'name'])
})

test.run()

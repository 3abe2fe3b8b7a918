// shares a process
import { createHash } from 'node:crypto'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import type { Principal } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { wasUsed } from '../../../transports/authorization/used-proofs.js'
import type { KeptValue, Values } from '../../../transports/contract/values.js'
import { suite } from '../../support/suite.js'

const test = suite('which proofs were used')
const ada: Principal = { issuer: 'urn:test', subject: 'ada' }
const lifetime = 120_000

/** An engine that several nodes share. */
function shared() {
  const clock = createFakeClock()
  const world = { ...systemWorld, ...clock, date: clock.now }
  const kept = new Map<string, KeptValue & { readonly until: number }>()
  let tags = 0
  const good = (key: string) => {
    const found = kept.get(key)
    return found !== undefined && found.until > world.now() ? found : undefined
  }
  const values: Values = {
    get: async (key) => good(key),
    async set(key, text, { ttl, was }) {
      if (good(key)?.tag !== was?.tag) return false
      tags += 1
      if (text !== undefined) kept.set(key, { text, tag: String(tags), until: world.now() + ttl })
      return true
    },
  }
  const use = (n: number, principal = ada) =>
    wasUsed(values, world, {
      id: createHash('sha256').update(String(n)).digest('base64url'),
      lifetime,
      principal,
    })
  return { world, kept, use }
}

test('each counts once for a user, while it would be good', async () => {
  const { world, use } = shared()
  assert.equal([await use(1), await use(2), await use(1)], [false, false, true])
  assert.not.ok(await use(1, { ...ada, subject: 'bob' }))
  await world.advance(lifetime - 1)
  assert.equal([await use(1), await use(3)], [true, false])
  await world.advance(1)
  // that of another proof in the same value keeps it no longer
  assert.equal([await use(1), await use(3)], [false, true])
})

test('of many that come with one proof at once one gets in', async () => {
  const { world, use } = shared()
  const all = Array.from({ length: 8 }, () => use(1))
  for (let ms = 0; ms < 3_000; ms += 20) await world.advance(20)
  assert.is((await Promise.all(all)).filter((isUsed) => !isUsed).length, 1)
})

test('one user fills 256 values and no more, keeps nobody out, and may come again', async () => {
  const { world, kept, use } = shared()
  const codes = new Map<unknown, number>()
  for (let n = 0; n < 20_000; n += 1) {
    const code = await use(n).catch(({ code }: { readonly code?: string }) => code)
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  assert.is(kept.size, 256)
  assert.ok(Math.max(...[...kept.values()].map(({ text }) => text.length)) < 3_000)
  assert.equal([...codes.keys()], [false, 'CLIENT_LIMIT'])
  // more than hundred in each second of the time that they are kept
  assert.ok((codes.get(false) ?? 0) > 14_000, String(codes.get(false)))
  assert.not.ok(await use(20_000, { ...ada, subject: 'bob' }))
  await world.advance(lifetime)
  assert.not.ok(await use(0))
})

test.run()

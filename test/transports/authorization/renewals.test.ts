// second tier: time
// Windows that renew, a thief, and an engine that takes its time: by chance, the same for each seed.
import { systemWorld } from 'caduceus/runtime'
import type { AdapterPayload } from 'oidc-provider'
import * as assert from 'uvu/assert'
import { ValueAdapter } from '../../../transports/authorization/adapter.js'
import { RefreshIds } from '../../../transports/authorization/refresh-ids.js'
import type { Values } from '../../../transports/contract/values.js'
import { suite } from '../../support/suite.js'
import { keptValues } from './_values.js'

const test = suite('renewals by chance', { timeout: 30_000 })
const lifetime = 86_400

interface Window {
  readonly chain: string
  id: string
}

for (let seed = 1; seed <= 12; seed += 1)
  test(`seed ${seed}: honest windows go on, and a thief does not`, async () => {
    const chance = chanceOf(seed)
    const upTo = (most: number): number => Math.floor(chance() * most) + 1
    const { time, renew, make, isThere } = await grant()
    const calls = upTo(4)
    const windows: Window[] = []
    for (let n = upTo(96 / calls); n > 0; n -= 1) {
      const id = await make()
      windows.push({ chain: id, id })
    }
    for (let round = 0; round < 4; round += 1) {
      time.ms += 16_000 + upTo(3_600_000)
      const awake = windows.filter(() => chance() < 0.7)
      await Promise.all(
        awake.map(async (window) => {
          const all = await Promise.all(Array.from({ length: calls }, () => renew(window.id)))
          assert.not.ok(
            all.includes(undefined),
            `${windows.length} windows of ${calls} calls, round ${round}`,
          )
          window.id = all[upTo(calls) - 1] ?? ''
        }),
      )
      assert.ok(isThere())
    }
    const robbed = windows[upTo(windows.length) - 1]
    assert.ok(robbed)
    let stolen = robbed.id
    let caught = false
    // within the time in which calls of one host renew at once, or later
    const between = chance() < 0.5 ? 1_000 : 20_000
    for (let round = 0; round < 3 && !caught; round += 1) {
      for (const who of chance() < 0.5 ? ['owner', 'thief'] : ['thief', 'owner']) {
        const next = await renew(who === 'owner' ? robbed.id : stolen)
        if (next === undefined) caught = true
        else if (who === 'owner') robbed.id = next
        else stolen = next
        // the others go on meanwhile
        for (const window of windows) if (window !== robbed && chance() < 0.9) await renewIn(window)
        time.ms += between
      }
      time.ms += 3_600_000
    }
    assert.ok(caught)
    assert.not.ok(isThere())

    async function renewIn(window: Window): Promise<void> {
      window.id = (await renew(window.id)) ?? window.id
    }
  })

test.run()

/** A grant, and what the library does for each renewal of it. */
async function grant() {
  const time = { ms: 0 }
  const world = { ...systemWorld, date: () => time.ms }
  const ids = new RefreshIds('key', world)
  const { values: quick, at } = keptValues(world.date)
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const values: Values = {
    get: (key) => turn().then(() => quick.get(key)),
    set: (...given) => turn().then(() => quick.set(...given)),
  }
  const refused = (): Error => new Error('refused')
  const grantOf = (id: string) => ids.grantOf(id)
  const parts = { values, world, usedAlready: refused, unavailable: refused, grantOf }
  const tokens = new ValueAdapter('RefreshToken', parts)
  await new ValueAdapter('Grant', parts).upsert('g', { kind: 'Grant' } as AdapterPayload, lifetime)
  const make = async (nonce?: string, rotations = 0): Promise<string> => {
    const id = ids.make('g', lifetime)
    const chain = nonce === undefined ? {} : { nonce }
    const own = { kind: 'RefreshToken', grantId: 'g', exp: lifetime, rotations, ...chain }
    await tokens.upsert(id, own as AdapterPayload, lifetime)
    return id
  }
  /** The next token; undefined: it was refused, and one that was used has ended the grant. */
  const renew = async (id: string): Promise<string | undefined> => {
    const found = await tokens.find(id)
    if (found?.consumed !== undefined) await tokens.revokeByGrantId('g')
    if (found === undefined || found.consumed !== undefined) return undefined
    try {
      await tokens.consume(id)
      return await make(found.nonce, (found.rotations ?? 0) + 1)
    } catch {
      return undefined
    }
  }
  return { time, renew, make, isThere: () => at('Grant g') !== undefined }
}

/** Numbers from 0 to 1, the same for each seed. */
function chanceOf(seed: number): () => number {
  let state = seed * 2_654_435_769
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

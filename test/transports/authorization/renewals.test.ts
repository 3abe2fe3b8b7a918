// second tier: time
// Windows that renew at several nodes, a thief, and an engine that goes away: by chance, the same for each seed.
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { away, grantOfNodes, refusedAs, type RenewingNode } from './_chains.js'

const test = suite('renewals by chance', { timeout: 30_000 })
const hour = 3_600_000
/** What the clocks of two nodes may differ by, and the ms after which a host tries again. */
const skew = 10_000
const retry = 5_000

interface Window {
  token: string
}

for (let seed = 1; seed <= 40; seed += 1)
  test(`seed ${seed}: honest windows go on, and a thief does not`, async () => {
    const chance = chanceOf(seed)
    const upTo = (most: number): number => Math.floor(chance() * most) + 1
    const isBroken = { engine: false }
    const { time, node, isThere } = await grantOfNodes(async () => {
      await new Promise(setImmediate)
      if (isBroken.engine && chance() < 0.2) throw away()
    })
    const nodes = Array.from({ length: upTo(3) }, () => node((chance() - 0.5) * skew))
    const any = (): RenewingNode => nodes[upTo(nodes.length) - 1] as RenewingNode
    const calls = upTo(20)
    const windows: Window[] = []
    for (let n = upTo(60); n > 0; n -= 1) windows.push({ token: await any().begin() })
    for (let round = 0; round < 5; round += 1) {
      time.ms += upTo(30 * hour) + 2 * skew
      isBroken.engine = chance() < 0.5
      const awake = windows.filter(() => chance() < 0.7)
      const told = await Promise.all(awake.map((window) => renewIn(window, calls)))
      isBroken.engine = false
      // who was told to come again does
      time.ms += retry
      for (const [at, window] of awake.entries()) if (told[at]) await renewIn(window, 1)
    }
    assert.ok(isThere())

    const robbed = windows[upTo(windows.length) - 1] as Window
    const thief = { token: robbed.token }
    let caught: string | undefined
    for (let round = 0; round < 4 && caught === undefined; round += 1) {
      // within the time in which calls of one host renew at once, or later
      const between = chance() < 0.5 ? 1_000 : 60_000
      for (const who of chance() < 0.5 ? [robbed, thief] : [thief, robbed]) {
        // any number of times: that hides nothing
        for (let n = upTo(20); n > 0 && caught === undefined; n -= 1)
          caught = await refusedAs(
            any()
              .renew(who.token)
              .then((token) => Object.assign(who, { token })),
          )
        time.ms += between
      }
      // once they renew at different times
      if (between < skew) time.ms += hour
      else break
    }
    caught ??= await refusedAs(any().renew(robbed.token))
    time.ms += hour
    caught ??= await refusedAs(any().renew(thief.token))
    time.ms += 2 * hour
    caught ??= await refusedAs(any().renew(robbed.token))
    assert.is(caught, 'used')
    assert.not.ok(isThere())

    /** True: none of the calls was answered. */
    async function renewIn(window: Window, times: number): Promise<boolean> {
      const before = window.token
      const renewOnce = async (): Promise<boolean> => {
        const as = await refusedAs(
          any()
            .renew(before)
            .then((token) => Object.assign(window, { token })),
        )
        assert.ok(as === undefined || (as === 'away' && isBroken.engine), `${as}`)
        return as === undefined
      }
      const answered = await Promise.all(Array.from({ length: times }, renewOnce))
      return !answered.includes(true)
    }
  })

test.run()

/** Numbers from 0 to 1, the same for each seed. */
function chanceOf(seed: number): () => number {
  let state = seed * 2_654_435_769
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

// second tier: time
import * as assert from 'uvu/assert'
import { gateway } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { cpuTime } from '../../support/allowance.mjs'
import { suite, type TestContext } from '../../support/suite.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: long lists', { timeout: 60_000 })

/** The CPU time of each turn of the event loop until the test ends, in ms. */
function turns(t: TestContext): number[] {
  const all: number[] = []
  let last = cpuTime()
  let isOver = false
  t.after(() => {
    isOver = true
  })
  const turn = (): void => {
    const now = cpuTime()
    all.push(now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return all
}

for (const [what, options] of [
  ['', {}],
  [' and pinned', { pin: true }],
  [' and judged by deny', { servers: { big: { deny: ['file:///secret/*'] } } }],
] as const)
  test(`a long list that changes is taken in pieces${what}`, async (t) => {
    let round = 0
    const up = byHand({
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true } },
      answers: {
        'tools/list': () => ({
          tools: Array.from({ length: 1_500 }, (_, at) => ({
            name: `tool_${round}_${at}`,
            description: 'what it does '.repeat(10),
            inputSchema: { type: 'object' },
          })),
        }),
        'resources/list': () => ({
          resources: Array.from({ length: 100 }, (_, at) => ({
            uri: `file:///r/${round}/%2e%2e/${at}/${'%252e%255c/'.repeat(8)}`,
            name: `r${at}`,
          })),
        }),
      },
    })
    const { client, close } = await connect(gateway({ big: up.client }, options), { logger: false })
    t.after(close)
    const first = async (): Promise<string | undefined> => (await client.listTools()).tools[0]?.name
    assert.is(await first(), 'big__tool_0_0')
    const changed = new Promise((resolve) =>
      client.onNotification('notifications/tools/list_changed', resolve),
    )
    round += 1
    const all = turns(t)
    up.tell('notifications/tools/list_changed')
    await changed
    const whole = all.reduce((sum, ms) => sum + ms, 0)
    const longest = all.reduce((most, ms) => Math.max(most, ms), 0)
    assert.ok(longest < whole / 2, `${longest} ms of ${whole} in one turn`)
    assert.is(await first(), 'big__tool_1_0')
  })

test.run()

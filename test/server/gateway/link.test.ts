import * as assert from 'uvu/assert'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import type { Upstream } from 'caduceus/server'
import { UpstreamLink } from '../../../server/gateway/link.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: one server')

for (const { what, lazy, after } of [
  { what: 'a lazy client is closed after ten minutes without a call', lazy: true, after: 1 },
  { what: 'a client that is not lazy stays', lazy: false, after: 0 },
])
  test(`by default ${what}`, async () => {
    const clock = createFakeClock()
    const closed: string[] = []
    const client = {
      name: 'up',
      state: { phase: 'ready', reason: undefined },
      close: async () => void closed.push('up'),
    } as unknown as Upstream
    let began: () => void = () => {}
    const started = new Promise<void>((resolve) => {
      began = resolve
    })
    const link = new UpstreamLink({
      name: 'up',
      record: { server: undefined, lists: undefined, wanted: new Map(), unwant: () => {} },
      entry: { start: () => client, lazy },
      options: {},
      requestTimeout: 1_000,
      world: { ...systemWorld, ...clock, now: () => clock.now() },
      began: () => began(),
      failed: (error) => assert.unreachable(String(error)),
      resourceUpdated: () => {},
    })
    link.begin()
    await started
    await clock.advance(599_999)
    link.sweep()
    assert.ok(link.isRunning)
    await clock.advance(1)
    link.sweep()
    assert.is(link.isRunning, !lazy)
    await Promise.resolve()
    assert.is(closed.length, after)
    await clock.advance(100_000_000)
    link.sweep()
    assert.is(link.isRunning, !lazy)
    link.end()
  })

test.run()

import * as assert from 'uvu/assert'
import { subscribeClient } from 'caduceus/client'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { seemsAlone, watchForgotten } from '../../../client/handle/forgotten.js'
import { Holdings } from '../../../client/holdings/holdings.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('a client that nobody closes')
const terminal = ['TTYWrap', 'TTYWrap']
const network = [...terminal, 'TCPSocketWrap', 'Timeout', 'Timeout']

test('resources of clients are distinct from other work of the program', () => {
  const pipes = [...terminal, 'ProcessWrap', 'PipeWrap', 'PipeWrap', 'PipeWrap', 'Timeout']
  for (const alone of [network, pipes, []]) assert.ok(seemsAlone(alone), alone.join())
  for (const more of [
    [...network, 'Timeout'],
    [...pipes, 'Timeout'],
    [...network, 'TCPServerWrap'],
    [...pipes, 'TCPSocketWrap'],
    [...network, 'TTYWrap'],
    [...network, 'constructor'],
  ])
    assert.not.ok(seemsAlone(more), more.join())
})

function watch(t: TestContext, isTerminal = true, resources: () => readonly string[] = () => network) {
  const clock = createFakeClock()
  const holdings = new Holdings({ name: 'left', cacheSize: 1, cacheBytes: 1 }, { ...systemWorld, ...clock })
  const told: string[] = []
  t.after(
    subscribeClient('warning', ({ client, type }) => {
      if (client === 'left') told.push(type)
    }),
  )
  const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY')
  Object.defineProperty(process.stderr, 'isTTY', { value: isTerminal, configurable: true })
  watchForgotten(holdings, clock, resources)
  if (before === undefined) Reflect.deleteProperty(process.stderr, 'isTTY')
  else Object.defineProperty(process.stderr, 'isTTY', before)
  return { clock, holdings, told }
}

test('the hint comes once, 10 s after the last message, on a terminal', async (t) => {
  const { clock, holdings, told } = watch(t)
  await clock.advance(6_000)
  holdings.gauge.received += 1
  await clock.advance(10_000)
  assert.equal(told, [])
  await clock.advance(2_000)
  assert.equal(told, ['forgotten'])
  await clock.advance(60_000)
  assert.equal([told, clock.pending], [['forgotten'], 0])
})

test('no hint without a terminal, with open calls, with a listener or with other work', async (t) => {
  const blind = watch(t, false)
  const busy = watch(t)
  busy.holdings.load = () => ({ waiting: 0, inFlight: 1 })
  const heard = watch(t)
  heard.holdings.handle('notifications/message', () => {})
  const besides = watch(t, true, () => [...network, 'TCPServerWrap'])
  for (const { clock, told } of [blind, busy, heard, besides]) {
    await clock.advance(60_000)
    assert.equal(told, [])
  }
  assert.is(blind.clock.pending, 0)
})

test('a closed client gets no hint', async (t) => {
  const { clock, holdings } = watch(t)
  assert.is(clock.pending, 1)
  holdings.end({ phase: 'closed', reason: undefined, attempt: 0, delay: undefined })
  await holdings.closed
  await clock.advance(0)
  assert.is(clock.pending, 0)
})

test.run()

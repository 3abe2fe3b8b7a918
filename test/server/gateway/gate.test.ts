import * as assert from 'uvu/assert'
import { McpError } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { Gate } from '../../../server/gateway/gate.js'
import { suite } from '../../support/suite.js'

const test = suite('gate')

function refused(fn: () => unknown): McpError {
  try {
    fn()
  } catch (error) {
    if (error instanceof McpError) return error
    throw error
  }
  throw new Error('it was let through')
}

test('open calls are counted in total, per caller and per tool, until they end', () => {
  const limits = { maxCalls: 4, maxCallsPerCaller: 2, maxCallsPerTool: { slow: 1 } }
  const gate = new Gate('files', limits, createFakeClock())
  const first = gate.enter('slow', 'ada')
  assert.match(refused(() => gate.enter('slow', 'bob')).message, /"slow" of files has 1 calls under way/)
  const second = gate.enter('read', 'ada')
  assert.match(refused(() => gate.enter('read', 'ada')).message, /files for one caller has 2 calls/)
  gate.enter('read', 'bob')
  gate.enter('read', 'eve')
  const full = refused(() => gate.enter('read', 'zoe'))
  assert.equal([full.code, full.data], [-32603, { retryable: true, sent: false }])
  first('serves')
  first('serves') // only once
  second('serves')
  gate.enter('slow', 'ada')
  gate.enter('read', 'ada')
  refused(() => gate.enter('read', 'zoe'))
})

test('breakers are per tool and caller, and a new connection resets them', async () => {
  const clock = createFakeClock()
  const gate = new Gate('files', { breaker: { failures: 2, pause: 1_000 } }, clock)
  for (const _ of [1, 2]) gate.enter('read', 'ada')('fails')
  const rests = refused(() => gate.enter('read', 'ada'))
  assert.match(rests.message, /"read" of files has failed 2 times in a row.*1000 ms/)
  assert.is((rests.data as { retryAfter: number }).retryAfter, 1_000)
  gate.enter('write', 'ada')('serves')
  gate.reset()
  gate.enter('read', 'ada')('fails')
  gate.enter('read', 'ada')('fails')
  await clock.advance(1_000)
  const trial = gate.enter('read', 'ada')
  refused(() => gate.enter('read', 'ada'))
  trial('serves')
  gate.enter('read', 'ada')
})

test('what fails for one caller is open to others, until it fails for them', async () => {
  const gate = new Gate('files', { breaker: { failures: 3, pause: 1_000 } }, createFakeClock())
  for (const _ of [1, 2, 3]) gate.enter('read', 'ada')('fails')
  refused(() => gate.enter('read', 'ada'))
  const bob = [gate.enter('read', 'bob'), gate.enter('read', 'bob')]
  bob[0]?.('fails')
  refused(() => gate.enter('read', 'bob'))
  // a part of it may fail by itself
  gate.enter('read', 'ada', 'read one')('serves')
  refused(() => gate.enter('read', 'ada'))
  bob[1]?.('serves')
  for (const caller of ['ada', 'bob']) gate.enter('read', caller)
})

test('of very many callers that have failed, the first may try again', () => {
  const gate = new Gate('files', { breaker: { failures: 1 } }, createFakeClock())
  for (let n = 0; n <= 1_000; n++) gate.enter('read', `caller ${n}`)('fails')
  gate.enter('read', 'caller 0')
  refused(() => gate.enter('read', 'caller 1'))
})

test('a name like that of a method of objects is a name', () => {
  const gate = new Gate('files', { maxCallsPerTool: {} }, createFakeClock())
  gate.enter('constructor', '__proto__')('fails')
})

test('without a breaker no tool is blocked', () => {
  const gate = new Gate('files', { breaker: false }, createFakeClock())
  for (let n = 0; n < 50; n += 1) gate.enter('read', 'ada')('fails')
})

test('without options five failures in a row close the way, for five seconds at first', async () => {
  const clock = createFakeClock()
  const gate = new Gate('files', {}, clock)
  for (let n = 0; n < 4; n += 1) gate.enter('read', 'ada')('fails')
  gate.enter('read', 'ada')('serves')
  for (let n = 0; n < 5; n += 1) gate.enter('read', 'ada')('fails')
  assert.match(refused(() => gate.enter('read', 'ada')).message, /failed 5 times in a row.* 5000 ms/)
  const pauses: unknown[] = []
  for (let wait = 5_000; pauses.length < 5; ) {
    await clock.advance(wait)
    gate.enter('read', 'ada')('fails')
    wait = (refused(() => gate.enter('read', 'ada')).data as { retryAfter: number }).retryAfter
    pauses.push(wait)
  }
  assert.equal(pauses, [10_000, 20_000, 40_000, 60_000, 60_000])
})

test('a call that ends gives its own place back, and no other', () => {
  const gate = new Gate('files', { maxCalls: 2 }, createFakeClock())
  const first = gate.enter('read', 'session 1')
  gate.enter('read', 'session 1')
  first('unsaid')
  gate.enter('read', 'session 1')
  refused(() => gate.enter('read', 'session 1'))
})

test('a caller that is known leaves a quarter of all calls to others', () => {
  const gate = new Gate('files', { maxCalls: 4 }, createFakeClock())
  for (const _ of [1, 2, 3]) gate.enter('read', 'principal ada')
  const { message } = refused(() => gate.enter('read', 'principal ada'))
  assert.match(message, /files for one caller has 3 calls under way/)
  gate.enter('read', 'principal bob')
})

test('without limits a caller that is known has its share of what a session works on', () => {
  const gate = new Gate('files', {}, createFakeClock())
  for (const caller of ['principal ada', 'from 10.0.0.1']) {
    for (let n = 0; n < 48; n++) gate.enter('read', caller)
    assert.match(refused(() => gate.enter('read', caller)).message, /for one caller has 48 calls/)
  }
  gate.enter('read', 'principal bob')
  for (let n = 0; n < 200; n++) gate.enter('read', 'session 1')
})

test('a refused call is told how long to wait, and takes no place', async () => {
  const clock = createFakeClock()
  const gate = new Gate('files', { maxCalls: 1, breaker: { failures: 1, pause: 100 } }, clock)
  gate.enter('read', 'ada')('fails')
  await clock.advance(0.5)
  const { data } = refused(() => gate.enter('read', 'ada'))
  assert.equal(data, { retryable: true, sent: false, retryAfter: 100 })
  gate.enter('write', 'ada')
})

test.run()

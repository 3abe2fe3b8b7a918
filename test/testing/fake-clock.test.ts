import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { createFakeClock, defineActor, startActor } from 'caduceus/runtime'
import { defineServer, defineTool } from 'caduceus/server'
import { connect, fakeClock, scriptedServer } from 'caduceus/testing'
import { suite } from '../support/suite.js'

const test = suite('fake clock')
const lengths = [60_000, 2_000, 1_000, 5_000, 100, 1, 17, 250.5]

/** What a call has come to by now. */
function outcomeOf(call: Promise<unknown>): { now: string } {
  const outcome = { now: 'waiting' }
  void call.then(
    () => {
      outcome.now = 'answered'
    },
    (error) => {
      outcome.now = error.code
    },
  )
  return outcome
}

for (const ms of lengths)
  test(`a call timeout of ${ms} ms ends exactly after advance(${ms})`, async () => {
    const clock = fakeClock()
    const server = scriptedServer({ 'tools/call': () => undefined })
    const client = startClient({ transport: server.transport, clock, logger: false })
    const outcome = outcomeOf(client.callTool('slow', {}, { timeout: ms }))
    await server.next('tools/call')
    await clock.advance(ms - 0.5)
    assert.is(outcome.now, 'waiting')
    await clock.advance(0.5)
    assert.is(outcome.now, 'TIMEOUT')
    await client.close()
  })

test('waits for a connection, progress and retries are exact on the fake clock', async () => {
  const clock = fakeClock()
  let tries = 0
  const server = scriptedServer({
    'tools/call': (_, peer) => {
      tries += 1
      if (tries === 1) peer.drop()
      return undefined
    },
  })
  const backoff = { base: 300, random: () => 0.9 }
  const client = startClient({ transport: server.transport, clock, backoff, logger: false })
  const outcome = outcomeOf(client.callTool('slow', {}, { timeout: 1_234, retry: 'safe' }))
  await server.next('tools/call')
  await clock.advance(400)
  assert.is(tries, 2, 'made again')
  await clock.advance(833)
  assert.is(outcome.now, 'waiting')
  await clock.advance(1)
  assert.is(outcome.now, 'TIMEOUT')
  await client.close()
})

test('actor calls time out exactly on the fake clock', async () => {
  for (const ms of lengths) {
    const clock = createFakeClock()
    const behaviour = defineActor({
      name: 'silent',
      init: () => ({}),
      call: { never: () => new Promise<void>(() => {}) },
    })
    const ref = await startActor(behaviour, undefined, { clock })
    const outcome = outcomeOf(ref.call('never', undefined, { timeout: ms }))
    await clock.advance(ms)
    assert.is(outcome.now, 'TIMEOUT', `${ms}`)
    ref.kill()
  }
})

test('a tool times out exactly on the fake clock', async () => {
  const clock = fakeClock()
  let begun = (): void => {}
  const started = new Promise<void>((resolve) => {
    begun = resolve
  })
  const run = (): Promise<string> => {
    begun()
    return new Promise(() => {})
  }
  const slow = defineTool({ name: 'slow', timeout: 1_000, run })
  await using pair = await connect(defineServer({ name: 's', version: '1', tools: [slow] }), { clock })
  const outcome = outcomeOf(pair.client.callTool('slow'))
  await started
  await clock.advance(999)
  assert.is(outcome.now, 'waiting')
  await clock.advance(1)
  assert.is(outcome.now, 'answered')
})

test.run()

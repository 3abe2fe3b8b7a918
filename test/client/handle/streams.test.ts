import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { watchNear } from '../_raw.js'

const test = suite('streams of a client')

test('states iterate from the present one to the end, and the loop can stop early', async (t) => {
  const { client } = watchNear(t)
  const early: string[] = []
  for await (const { phase } of client.states()) {
    early.push(phase)
    if (phase === 'ready') break
  }
  assert.equal(early, ['disconnected', 'connecting', 'initializing', 'ready'])
  const rest: string[] = []
  const loop = (async () => {
    for await (const { phase } of client.states()) rest.push(phase)
  })()
  await client.close()
  await loop
  assert.equal(rest, ['ready', 'closed'])
})

test('concurrent next() calls get states in order, then the end', async (t) => {
  const { client } = watchNear(t)
  const states = client.states()
  const first = Promise.all([states.next(), states.next(), states.next(), states.next(), states.next()])
  await client.ready()
  await client.close()
  const phases = (await first).map(({ value }) => value?.phase)
  assert.equal(phases, ['disconnected', 'connecting', 'initializing', 'ready', 'closed'])
  assert.equal(await states.next(), { done: true, value: undefined })
})

test.run()

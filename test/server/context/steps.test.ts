import * as assert from 'uvu/assert'
import { defineTool, ServerError } from 'caduceus/server'
import { Steps } from '../../../server/context/steps.js'
import { suite } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startTestServer } from '../_servers.js'

const test = suite('server steps')

test('a step runs once per key, also for concurrent calls', async () => {
  const steps = new Steps()
  let runs = 0
  const step = async () => {
    runs += 1
    return { n: runs }
  }
  const [one, two] = await Promise.all([steps.once('a', step), steps.once('a', step)])
  assert.equal([one, two, runs], [{ n: 1 }, { n: 1 }, 1])
  assert.is.not(one, two)
  assert.equal(await steps.once('b', step), { n: 2 })
  assert.equal(
    [...steps.finished],
    [
      ['a', '{"n":1}'],
      ['b', '{"n":2}'],
    ],
  )
})

test('a finished step of an earlier round is not repeated', async () => {
  const steps = new Steps(
    new Map([
      ['a', '[1,"x"]'],
      ['nothing', undefined],
    ]),
  )
  const unwanted = () => assert.unreachable()
  assert.equal(await steps.once('a', unwanted), [1, 'x'])
  assert.is(await steps.once('nothing', unwanted), undefined)
})

test('a failed step rejects with its error and may run again', async () => {
  const steps = new Steps()
  const failure = new Error('no luck')
  const failed = await steps
    .once('a', () => {
      throw failure
    })
    .catch((error: unknown) => error)
  assert.is(failed, failure)
  assert.is(steps.finished.size, 0)
  assert.is(await steps.once('a', () => 'well'), 'well')
})

test('a step value is its JSON, and a value without JSON is refused', async () => {
  const steps = new Steps()
  const value = { at: new Date(0), gone: undefined, list: [undefined] }
  assert.equal(await steps.once('a', () => value as unknown), {
    at: '1970-01-01T00:00:00.000Z',
    list: [null],
  })
  const circular: { self?: unknown } = {}
  circular.self = circular
  for (const [key, unfit] of Object.entries({ big: 1n, fn: () => 1, circular })) {
    const error = await steps.once(key, () => unfit as unknown).catch((caught: unknown) => caught)
    assert.ok(error instanceof ServerError)
    assert.equal([error.code, error.data], ['BAD_STATE', { key }])
  }
})

test('a step needs a non-empty key and a function', async () => {
  const steps = new Steps()
  const uses = [
    () => steps.once('', () => 1),
    () => steps.once(1 as never, () => 1),
    () => steps.once('a', 1 as never),
  ]
  for (const use of uses) assert.is((await use().catch(({ code }) => code)) as unknown, 'BAD_STATE')
})

test('a call of a session has steps of its own', async (t) => {
  let runs = 0
  const stepping = defineTool({
    name: 'stepping',
    async run(_args, ctx) {
      const step = () => {
        runs += 1
        return runs
      }
      return `${await ctx.once('a', step)} ${await ctx.once('a', step)}`
    },
  })
  const server = await startTestServer(t, [stepping])
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('stepping'), '1 1')
  assert.is(await client.text('stepping'), '2 2')
})

test.run()

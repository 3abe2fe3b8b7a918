import * as assert from 'uvu/assert'
import { TokenCache } from '../../../transports/auth/tokens.js'
import { suite } from '../../support/suite.js'

const test = suite('auth cache')

function start(limits: { readonly cacheTime?: number; readonly maxCached?: number } = {}) {
  const time = { now: 0 }
  const asked: string[] = []
  const cache = new TokenCache<string>(
    { cacheTime: 10, maxCached: 2, ...limits },
    (answer) => !answer.startsWith('no'),
  )
  const find = (token: string) =>
    cache.find(token, { now: () => time.now }, async () => {
      asked.push(token)
      if (token === 'bad') throw new Error('bad')
      return `${token} ${asked.length}`
    })
  return { time, asked, find }
}

test('a cached check is shared and kept for its time', async () => {
  const { time, asked, find } = start()
  assert.equal(await Promise.all([find('a'), find('a'), find('b')]), ['a 1', 'a 1', 'b 2'])
  time.now = 9
  assert.is(await find('a'), 'a 1')
  time.now = 10
  assert.is(await find('a'), 'a 3')
  assert.equal(asked, ['a', 'b', 'a'])
})

test('the cache of checks evicts the oldest', async () => {
  const { asked, find } = start()
  for (const token of ['a', 'b', 'c', 'c', 'b', 'a']) await find(token)
  assert.equal(asked, ['a', 'b', 'c', 'a'])
})

test('tokens that somebody makes up push out no good one, whatever becomes of them', async () => {
  const { asked, find } = start()
  assert.equal([await find('a'), await find('b')], ['a 1', 'b 2'])
  for (const token of ['no 1', 'no 2', 'no 3']) await find(token)
  await Promise.allSettled([find('bad'), find('no 4'), find('bad'), find('no 5')])
  assert.equal([await find('a'), await find('b')], ['a 1', 'b 2'])
  assert.is(asked.filter((token) => token === 'no 5').length, 1)
  await find('no 5')
  assert.is(asked.filter((token) => token === 'no 5').length, 1, 'a refusal is kept, too')
})

test('a check that never ends is shared for five seconds, whatever the cache time', async () => {
  const time = { now: 0 }
  const cache = new TokenCache<string>({ cacheTime: 60_000, maxCached: 2 }, () => true)
  let asked = 0
  const find = () =>
    cache.find('a', { now: () => time.now }, () => {
      asked += 1
      return asked === 1 ? new Promise<never>(() => {}) : Promise.resolve(`a ${asked}`)
    })
  void find()
  time.now = 4_999
  void find()
  assert.is(asked, 1)
  time.now = 5_000
  assert.is(await find(), 'a 2')
  time.now = 64_999
  assert.is(await find(), 'a 2')
  time.now = 65_000
  assert.is(await find(), 'a 3')
})

test('a failed check is not cached, and with a cache time of 0 nothing is', async () => {
  const { asked, find } = start()
  for (const _ of [1, 2]) assert.is(await find('bad').catch((error: Error) => error.message), 'bad')
  assert.equal(asked, ['bad', 'bad'])
  const none = start({ cacheTime: 0 })
  assert.equal([await none.find('a'), await none.find('a')], ['a 1', 'a 2'])
})

test.run()

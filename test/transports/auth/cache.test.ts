import * as assert from 'uvu/assert'
import { TokenCache } from '../../../transports/auth/tokens.js'
import { suite } from '../../support/suite.js'

const test = suite('auth cache')

function start(limits: { readonly cacheTime?: number; readonly maxCached?: number } = {}) {
  const time = { now: 0 }
  const asked: string[] = []
  const cache = new TokenCache<string>({ cacheTime: 10, maxCached: 2, ...limits })
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

test('a failed check is not cached, and with a cache time of 0 nothing is', async () => {
  const { asked, find } = start()
  for (const _ of [1, 2]) assert.is(await find('bad').catch((error: Error) => error.message), 'bad')
  assert.equal(asked, ['bad', 'bad'])
  const none = start({ cacheTime: 0 })
  assert.equal([await none.find('a'), await none.find('a')], ['a 1', 'a 2'])
})

test.run()

import * as assert from 'uvu/assert'
import { http } from 'caduceus/transports'
import { Cache } from '../../../client/holdings/cache.js'
import { suite } from '../../support/suite.js'
import { json, listen, result } from '../../transports/_http.js'
import { stateless } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('answers that are kept')

const kept = { ttlMs: 1_000, cacheScope: 'private' }
const page = (text: string) => ({ ...kept, contents: [{ uri: 'a:1', text }] })
const read = (cache: Cache, uri: string) => cache.find('resources/read', { uri }, 0)
const keep = (cache: Cache, uri: string, text: string) => cache.keep('resources/read', { uri }, page(text), 0)

test('the cache evicts the oldest entries beyond its bytes, and no more', () => {
  const cache = new Cache({ cacheSize: 100, cacheBytes: 1_000 })
  for (const uri of ['a:1', 'a:2', 'a:3']) keep(cache, uri, 'x'.repeat(300))
  assert.is(read(cache, 'a:1'), undefined)
  assert.ok(read(cache, 'a:2') && read(cache, 'a:3'))
})

test('the cache holds exactly its limit of bytes, and not one more', () => {
  const text = 'x'.repeat(300)
  const bytes = JSON.stringify(page(text)).length + 'resources/read [["uri","a:1"]]'.length
  for (const [cacheBytes, first] of [
    [3 * bytes, true],
    [3 * bytes - 1, false],
  ] as const) {
    const cache = new Cache({ cacheSize: 100, cacheBytes })
    for (const uri of ['a:1', 'a:2', 'a:3']) keep(cache, uri, text)
    assert.is(read(cache, 'a:1') !== undefined, first)
    assert.ok(read(cache, 'a:2') && read(cache, 'a:3'))
  }
})

test('the cache counts bytes, not characters', () => {
  const cache = new Cache({ cacheSize: 100, cacheBytes: 1_000 })
  keep(cache, 'a:1', '€'.repeat(400))
  assert.ok(cache.isEmpty)
})

test('an entry beyond the whole cache replaces its old value and evicts no other', () => {
  const cache = new Cache({ cacheSize: 100, cacheBytes: 1_000 })
  keep(cache, 'a:1', 'small')
  keep(cache, 'a:2', 'small')
  keep(cache, 'a:1', 'x'.repeat(2_000))
  assert.is(read(cache, 'a:1'), undefined)
  assert.ok(read(cache, 'a:2'))
})

test('replaced, dropped and invalidated entries no longer count', () => {
  const cache = new Cache({ cacheSize: 100, cacheBytes: 1_000 })
  keep(cache, 'a:1', 'x'.repeat(800))
  keep(cache, 'a:1', 'y'.repeat(800))
  assert.ok(read(cache, 'a:1'))
  cache.changed('notifications/resources/updated', { uri: 'a:1' })
  keep(cache, 'a:2', 'x'.repeat(800))
  assert.ok(read(cache, 'a:2'))
  cache.clear()
  keep(cache, 'a:3', 'x'.repeat(800))
  assert.ok(read(cache, 'a:3'))
})

test('a cached answer is returned as a copy with every JSON key', () => {
  const cache = new Cache({ cacheSize: 2, cacheBytes: 1_000 })
  const odd = JSON.parse('{"ttlMs":1000,"cacheScope":"public","contents":[],"__proto__":{"x":1}}')
  cache.keep('resources/read', { uri: 'a:1' }, odd, 0)
  const [one, two] = [read(cache, 'a:1'), read(cache, 'a:1')]
  assert.is(JSON.stringify(one), JSON.stringify(odd))
  assert.ok(one !== two && one?.contents !== two?.contents)
})

test.slow('lists larger than the cache are fetched each time', async (t) => {
  let asked = 0
  const tools = [{ name: 'big', description: 'x'.repeat(5_000), inputSchema: { type: 'object' } }]
  const { url } = await listen(
    t,
    stateless((one) => {
      asked += 1
      json(one, result(one, { resultType: 'complete', ...kept, ttlMs: 60_000, tools }))
    }),
  )
  for (const [cacheBytes, times] of [
    [1_000, 2],
    [100_000, 1],
  ] as const) {
    asked = 0
    const { client } = watch(t, { transport: http(url), era: 'modern', cacheBytes })
    await client.ready()
    for (const _ of [1, 2]) assert.is((await client.listTools()).tools[0]?.description?.length, 5_000)
    assert.is(asked, times)
    await client.close()
  }
})

test('cacheBytes must be a whole number above 0', async (t) => {
  for (const cacheBytes of [0, -1, 1.5, '1']) {
    const start = async () => watch(t, { cacheBytes: cacheBytes as number })
    const error = await rejection(start())
    assert.is(error.code, 'BAD_OPTION')
    assert.match(error.message, /^cacheBytes: /)
  }
})

test.run()

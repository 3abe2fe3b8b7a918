import * as assert from 'uvu/assert'
import {
  cacheableMethods,
  type CacheHints,
  dialect20260728,
  metaKeys,
  readCacheHints,
  stampResult,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/stateless/stamp')
const serverInfo = Object.freeze({ name: 's', version: '1' })
const cache: CacheHints = Object.freeze({ ttlMs: 60_000, cacheScope: 'public' })
const meta = { [metaKeys.serverInfo]: serverInfo }
const keepable: readonly string[] = [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'skills/list',
  'skills/get',
]

for (const method of dialect20260728.requests.server) {
  const isKept = keepable.includes(method)
  test(`a ${method} result is complete${isKept ? ' and may be kept' : ''}`, () => {
    assert.is(cacheableMethods.has(method), isKept)
    assert.equal(stampResult(method, { a: 1 }, { serverInfo, cache }), {
      a: 1,
      resultType: 'complete',
      _meta: meta,
      ...(isKept && cache),
    })
  })
}

test('without hints a result is private and not cached (trap 7)', () => {
  assert.equal(stampResult('server/discover', { supportedVersions: [], capabilities: {} }, { serverInfo }), {
    supportedVersions: [],
    capabilities: {},
    resultType: 'complete',
    _meta: meta,
    ttlMs: 0,
    cacheScope: 'private',
  })
})

test('stamping copies the result and keeps its _meta', () => {
  const result = Object.freeze({ content: [], _meta: Object.freeze({ 'example.com/a': 1 }) })
  assert.equal(stampResult('tools/call', result, { serverInfo })._meta, { 'example.com/a': 1, ...meta })
  assert.equal(result, { content: [], _meta: { 'example.com/a': 1 } })
})

test('a field that is there and undefined counts as absent', () => {
  const result = {
    content: [],
    _meta: undefined,
    resultType: undefined,
    ttlMs: undefined,
    cacheScope: undefined,
  }
  const stamped = JSON.parse(JSON.stringify(stampResult('resources/read', result, { serverInfo, cache })))
  assert.equal(stamped, { content: [], resultType: 'complete', _meta: meta, ...cache })
})

test('only the server stamps its name', () => {
  const forged = { _meta: { [metaKeys.serverInfo]: { name: 'other', version: '0' } } }
  assert.equal(stampResult('tools/call', forged, { serverInfo })._meta, meta)
})

test('own hints of a result win one by one, invalid ones are ignored', () => {
  const hints = (own: object) => {
    const { ttlMs, cacheScope } = stampResult('resources/read', own, {
      serverInfo,
      cache,
    }) as Partial<CacheHints>
    return [ttlMs, cacheScope]
  }
  assert.equal(hints({ ttlMs: 5 }), [5, 'public'])
  assert.equal(hints({ ttlMs: 0, cacheScope: 'private' }), [0, 'private'])
  for (const bad of [-5, 1.5, Number.NaN, '5', null]) assert.equal(hints({ ttlMs: bad }), [60_000, 'public'])
  assert.equal(hints({ cacheScope: 'shared' }), [60_000, 'public'])
})

test('a result that asks for input, or of an extension, has no hints (trap 74)', () => {
  for (const resultType of ['input_required', 'task']) {
    assert.equal(stampResult('resources/read', { resultType, requestState: 's' }, { serverInfo, cache }), {
      resultType,
      requestState: 's',
      _meta: meta,
    })
  }
})

const read: readonly [object, CacheHints][] = [
  [
    { ttlMs: 5, cacheScope: 'public' },
    { ttlMs: 5, cacheScope: 'public' },
  ],
  [
    { ttlMs: -5, cacheScope: 'public' },
    { ttlMs: 0, cacheScope: 'public' },
  ],
  [{ ttlMs: 1e300 }, { ttlMs: 0, cacheScope: 'private' }],
  [
    { ttlMs: '5', cacheScope: 'Public' },
    { ttlMs: 0, cacheScope: 'private' },
  ],
  [{}, { ttlMs: 0, cacheScope: 'private' }],
]

for (const [result, hints] of read) {
  test(`result ${JSON.stringify(result)} has hints ${JSON.stringify(hints)} (trap 77)`, () => {
    assert.equal(readCacheHints(result), hints)
  })
}

test.run()

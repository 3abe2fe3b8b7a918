// shares a process
import { systemWorld } from 'caduceus/runtime'
import * as assert from 'uvu/assert'
import { endGrant } from '../../../transports/authorization/adapter.js'
import { makingRoom, TokenIds } from '../../../transports/authorization/token-ids.js'
import { suite } from '../../support/suite.js'
import { away, grantOfNodes, refusedAs } from './_chains.js'

const test = suite('chains of refresh tokens')
const hour = 3_600_000

test('all who renew at once get the same next token, however many they are, and go on', async () => {
  const { node, time, isThere, texts } = await grantOfNodes(() => new Promise(setImmediate))
  const [one, other] = [node(), node()]
  let token = await one.begin()
  for (let round = 0; round < 3; round += 1) {
    time.ms += hour
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? one : other).renew(token)),
    )
    assert.is(new Set(all).size, 1)
    assert.is.not(all[0], token)
    token = all[0] ?? ''
  }
  assert.is(texts('RefreshToken ').length, 1)
  assert.ok(isThere())
})

test('the token before the current one is good for 30 s, and ends the grant then', async () => {
  for (const [ms, expected] of [
    [29_999, undefined],
    [30_000, 'used'],
  ] as const) {
    const { node, time, isThere } = await grantOfNodes()
    const { begin, renew } = node()
    const first = await begin()
    time.ms += hour
    const second = await renew(first)
    time.ms += ms
    if (expected === undefined) assert.is(await renew(first), second)
    else assert.is(await refusedAs(renew(first)), expected)
    assert.is(isThere(), expected === undefined)
    if (expected !== undefined) assert.is(await refusedAs(renew(second)), 'unknown')
  }
})

test('a token made within the last 40 s stays, so that the one before it is good', async () => {
  const { node, time } = await grantOfNodes()
  const { begin, renew } = node()
  const first = await begin()
  // the first one has none before it
  const second = await renew(first)
  time.ms += 29_000
  assert.is(await renew(second), second)
  assert.is(await renew(first), second)
  time.ms += 10_000
  assert.is(await renew(second), second)
  time.ms += 2_000
  assert.is.not(await renew(second), second)
})

for (const uses of [1, 2, 17, 40])
  test(`a thief who uses a token ${uses} times is noticed by the next renewal of its owner`, async () => {
    const { node, time, isThere } = await grantOfNodes()
    const { begin, renew } = node()
    const first = await begin()
    time.ms += hour
    let stolen = ''
    for (let n = 0; n < uses; n += 1) stolen = await renew(first)
    // what the owner has is good for 30 s, and leads to what the thief has
    time.ms += 10_000
    const own = await renew(first)
    assert.is(own, stolen)
    time.ms += hour
    await renew(stolen)
    time.ms += 60_000
    assert.is(await refusedAs(renew(own)), 'used')
    assert.not.ok(isThere())
  })

test('a renewal that fails anywhere can be made again with that token', async () => {
  let lost = 0
  for (let at = 0, isOver = false; !isOver; at += 1) {
    let left = Number.POSITIVE_INFINITY
    const found = await grantOfNodes(async () => {
      left -= 1
      if (left < 0) throw away()
    })
    const { begin, renew } = found.node()
    const first = await begin()
    found.time.ms += hour
    left = at
    const failed = await refusedAs(renew(first))
    isOver = failed === undefined
    if (!isOver) assert.is(failed, 'away', `${at}`)
    left = Number.POSITIVE_INFINITY
    // that the engine has it, and could not say so, is as if the answer were lost: then it is for 30 s
    const { payload } = JSON.parse(found.texts('RefreshToken ')[0] ?? '')
    if (payload.rotations === 1 && !isOver) lost += 1
    found.time.ms += payload.rotations === 1 ? 29_000 : 48 * hour
    assert.ok(await renew(first), `${at}`)
    assert.ok(found.isThere(), `${at}`)
  }
  assert.is(lost, 1)
})

test('a grant has 128 chains: the one that was renewed longest ago makes room', async () => {
  const { node, time, texts, isThere } = await grantOfNodes()
  const { begin, renew } = node()
  const all: string[] = []
  for (let n = 0; n < 128; n += 1) {
    time.ms += 1_000
    all.push(await begin())
  }
  // the first one is in use
  time.ms += hour
  const [first = '', second = ''] = all
  all[0] = await renew(first)
  all.push(await begin())
  assert.is(texts('RefreshToken ').length, 128)
  // whose chain made room signs in again, and nobody else
  assert.is(await refusedAs(renew(second)), 'unknown')
  time.ms += hour
  for (const token of all) if (token !== second) await renew(token)
  assert.ok(isThere())
})

test('chains that have ended take no room', async () => {
  const { node, time, texts, at } = await grantOfNodes()
  const { begin, renew } = node()
  const days = 86_400_000
  const kept = await begin()
  time.ms += days
  for (let n = 0; n < 127; n += 1) await begin()
  time.ms += 20 * days
  const next = await renew(kept)
  time.ms += 11 * days
  await begin()
  assert.equal([texts('RefreshToken ').length, JSON.parse(at('tokens of g')?.text ?? '').length], [2, 2])
  assert.ok(await renew(next))
})

test('of a grant that ends while tokens of it are made nothing is left', async () => {
  const { node, time, texts, values } = await grantOfNodes(() => new Promise(setImmediate))
  const { begin, renew } = node()
  const there = await Promise.all([1, 2, 3].map(() => begin()))
  time.ms += hour
  await Promise.all([
    ...Array.from({ length: 16 }, () => begin().catch(() => '')),
    ...there.map((token) => renew(token).catch(() => '')),
    endGrant(values, systemWorld, 'g'),
  ])
  assert.equal(texts(''), [])
})

test('a renewal asks the engine seven times, also in a full grant, beside many others', async () => {
  const { node, time, asked } = await grantOfNodes(() => new Promise(setImmediate))
  const { begin, renew } = node()
  const all: string[] = []
  for (let n = 0; n < 128; n += 1) all.push(await begin())
  time.ms += hour
  asked.times = 0
  await Promise.all([...all, ...all, ...all].map((token) => renew(token)))
  assert.ok(asked.times <= 384 * 7, `${asked.times}`)
})

test('windows that renew early, at nodes whose clocks differ by 10 s, go on', async () => {
  for (const skews of [
    [0, -10_000],
    [0, 10_000],
    [-5_000, 5_000],
    [5_000, -5_000],
  ] as const)
    for (let gap = 0; gap < 60_000; gap += 1_000) {
      const { node, time, isThere } = await grantOfNodes()
      const [one, other] = skews.map((skew) => node(skew))
      const first = (await one?.begin()) ?? ''
      time.ms += hour
      // two windows that renew again early, each at a node of its own
      let [left, right] = [await one?.renew(first), await other?.renew(first)]
      for (let round = 0; round < 5; round += 1) {
        time.ms += gap
        left = await one?.renew(left ?? '')
        time.ms += 1_000
        right = await other?.renew(right ?? '')
      }
      assert.ok(isThere(), `${skews} ${gap}`)
    }
})

test('an access token makes room among lesser ones of its renewal, then in its chain', () => {
  const ids = new TokenIds('key', systemWorld)
  const [own, other] = [ids.newChain(), ids.newChain()]
  const token = (chain: string, rotations: number, scope = 'all', at = 0): string =>
    ids.accessToken({ chain, rotations }, { at, scope, isPlain: scope === 'all' })
  // those of one renewal are one, whatever the order of their scopes
  const kinds = [{ scope: 'a b' }, { scope: 'b a' }, { scope: 'ab' }, { jkt: 'a b' }, { at: 1, scope: 'a b' }]
  const all = kinds.map((kind) =>
    ids.accessToken({ chain: own, rotations: 1 }, { at: 0, isPlain: false, ...kind }),
  )
  assert.is(all[0], all[1])
  assert.is(new Set(all).size, 4)
  const [before, current] = [token(own, 1), token(own, 2)]
  const ofThief = Array.from({ length: 100 }, (_, n) => token(own, 2, `${n}`))
  let given: readonly string[] = ['with the code', token(other, 1), before, current]
  for (const next of ofThief) {
    const gone = makingRoom(given, next, 128)
    given = [...given.filter((one) => !gone.includes(one)), next]
  }
  assert.equal(given, ['with the code', token(other, 1), before, current, ...ofThief.slice(-32)])
  // those of a renewal that is as old have ended
  assert.equal(makingRoom(given, token(own, 2, 'all', 3), 128), [current, ...ofThief.slice(-32)])
  assert.equal(makingRoom(given, token(own, 2, 'all', 2), 128), [])
  assert.equal(makingRoom(given, token(own, 3), given.length), [before])
  assert.equal(makingRoom(given, token(other, 2), given.length), [token(other, 1)])
  assert.equal(makingRoom(given, 'another with a code', given.length), ['with the code'])
  assert.equal(makingRoom(given, token(ids.newChain(), 1), given.length + 1), [])
})

test('a chain that this node cannot read takes its room, and stays', async () => {
  const { node, values, ids, texts } = await grantOfNodes()
  const { begin } = node()
  const all: string[] = []
  for (let n = 0; n < 128; n += 1) all.push(await begin())
  const keyOf = (token = '') => `RefreshToken ${ids.read(token)?.chain}`
  const [first, second] = all
  const was = await values.get(keyOf(first))
  await values.set(keyOf(first), '', { ttl: hour, was })
  await begin()
  assert.is((await values.get(keyOf(first)))?.text, '')
  assert.is(await values.get(keyOf(second)), undefined)
  assert.is(texts('RefreshToken ').length, 128)
})

test('a made-up token ends nothing', async () => {
  const { node, ids, isThere } = await grantOfNodes()
  const { begin, chains } = node()
  const real = await begin()
  const { chain = '' } = ids.read(real) ?? {}
  const forged = [
    chain,
    '',
    real.slice(0, -1),
    `${real}x`,
    real.replace(/^./, (letter) => (letter === 'a' ? 'b' : 'a')),
    real.replace('.0.', '.1.'),
    new TokenIds('other key', systemWorld).refreshToken({ chain, rotations: 0 }),
  ]
  for (const token of forged) assert.is(await chains.find(token), undefined, token)
  // one that was made here, and whose chain is no more
  assert.is(await chains.find(ids.refreshToken({ chain: ids.newChain(), rotations: 0 })), undefined)
  assert.ok(isThere())
})

test('an engine that has lost what it knew last lets the owner go on', async () => {
  const { node, time, at, values, isThere, ids } = await grantOfNodes()
  const { begin, renew } = node()
  const first = await begin()
  const key = `RefreshToken ${ids.read(first)?.chain}`
  const before = at(key)
  time.ms += hour
  const second = await renew(first)
  await values.set(key, before?.text, { ttl: 30 * 86_400_000, was: at(key) })
  time.ms += hour
  const third = await renew(second)
  time.ms += hour
  assert.ok(await renew(third))
  assert.ok(isThere())
})

test.run()

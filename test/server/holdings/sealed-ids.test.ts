import * as assert from 'uvu/assert'
import { sealedIds, type SealedIds, type SealedIdsOptions } from 'caduceus/server'
import { suite } from '../../support/suite.js'

type SealedFacts = Parameters<SealedIds['seal']>[0]

const test = suite('sealed ids')
const [first, second] = ['first secret '.repeat(3), 'second secret '.repeat(3)] as const
const facts: SealedFacts = {
  revision: '2025-11-25',
  client: { name: 'client', version: '1.2.3', title: 'Klient', websiteUrl: 'https://example.org' },
  capabilities: {
    roots: { listChanged: true },
    elicitation: { form: {}, url: {} },
    experimental: { x: { y: 1 } },
  },
}

test('a sealed id opens in every program with the key', () => {
  const { id, expiresAt } = sealedIds({ keys: [first] }).seal(facts, 'server')
  assert.equal(sealedIds({ keys: [first] }).open(id, 'server'), { id, facts, expiresAt })
  assert.match(id, /^[A-Za-z0-9_-]+$/)
  assert.not.match(Buffer.from(id, 'base64url').toString('latin1'), /client|2025|roots/)
})

test('no two ids are the same', () => {
  const ids = sealedIds({ keys: [first] })
  assert.is(new Set(Array.from({ length: 100 }, () => ids.seal(facts, 'server').id)).size, 100)
})

test('a changed or differently spelled id is invalid', () => {
  const ids = sealedIds({ keys: [first] })
  const { id } = ids.seal(facts, 'server')
  const bytes = Buffer.from(id, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    assert.is(ids.open(changed.toString('base64url'), 'server'), undefined)
  }
  const spelled = [
    `${id}=`,
    ` ${id}`,
    `${id}!`,
    `${id}A`,
    id.slice(0, -1),
    `${id.slice(0, 9)}.${id.slice(9)}`,
  ]
  const others = [
    '',
    'x',
    'é',
    'A'.repeat(100),
    'A'.repeat(100_000),
    'V1StGXR8_Z5jdHi6B-myT',
    '\0',
    '__proto__',
  ]
  for (const other of [...spelled, ...others]) assert.is(ids.open(other, 'server'), undefined)
  for (let length = 0; length < id.length; length++)
    assert.is(ids.open(id.slice(0, length), 'server'), undefined)
})

test('an id of another server or key is invalid', () => {
  const { id } = sealedIds({ keys: [first] }).seal(facts, 'server')
  assert.is(sealedIds({ keys: [first] }).open(id, 'other'), undefined)
  assert.is(sealedIds({ keys: [second] }).open(id, 'server'), undefined)
})

test('an id expires at its age', () => {
  let now = 1_000_000
  const ids = sealedIds({ keys: [first], maxAge: 60_000, now: () => now })
  const { id } = ids.seal(facts, 'server')
  now += 59_999
  assert.ok(ids.open(id, 'server'))
  now += 1
  assert.is(ids.open(id, 'server'), undefined)
})

test('keys are exchanged one after the other: the first seals, all of them open', () => {
  const old = sealedIds({ keys: [first] })
  const between = sealedIds({ keys: [second, first] })
  const young = sealedIds({ keys: [second] })
  const before = old.seal(facts, 'server')
  const after = between.seal(facts, 'server')
  assert.equal(between.open(before.id, 'server')?.facts, facts)
  assert.equal(young.open(after.id, 'server')?.facts, facts)
  assert.is(young.open(before.id, 'server'), undefined)
  assert.is(old.open(after.id, 'server'), undefined)
})

test('a secret is text or bytes', () => {
  const bytes = new Uint8Array(32).fill(7)
  const { id } = sealedIds({ keys: [bytes] }).seal(facts, 'server')
  assert.ok(sealedIds({ keys: [Buffer.from(bytes)] }).open(id, 'server'))
})

test('an ended id is invalid; at the bound, expired and then oldest marks go', () => {
  let now = 1_000_000
  const ids = sealedIds({ keys: [first], maxAge: 60_000, maxRevoked: 2, now: () => now })
  const seal = () => ids.seal(facts, 'server')
  const isOpen = ({ id }: { id: string }) => ids.open(id, 'server') !== undefined
  const [a, b] = [seal(), seal()]
  now += 30_000
  const [c, d, e] = [seal(), seal(), seal()]
  assert.equal([a, b, c, d, e].map(isOpen), [true, true, true, true, true])
  ids.revoke(c)
  ids.revoke(a)
  assert.equal([a, b, c, d, e].map(isOpen), [false, true, false, true, true])
  now += 30_000 // a ends by itself
  ids.revoke(d)
  assert.equal([c, d, e].map(isOpen), [false, false, true])
  ids.revoke(e)
  assert.equal([c, d, e].map(isOpen), [true, false, false])
})

test('an id has at most 720 characters for any client facts', () => {
  const ids = sealedIds({ keys: [first] })
  const flags = { sampling: { context: {}, tools: {} }, elicitation: { form: {}, url: {} } }
  const tasks = {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  }
  const all = { roots: { listChanged: true }, ...flags, tasks }
  const experimental = { big: { text: 'x'.repeat(10_000) } }
  const icons = [{ src: `data:image/png;base64,${'A'.repeat(10_000)}` }]
  const clients = [
    { ...facts.client, icons, description: 'd'.repeat(5_000) },
    { name: 'n'.repeat(10_000), version: 'v'.repeat(10_000) },
    { name: '\0'.repeat(10_000), version: '\u{1F600}'.repeat(10_000) },
    { name: '\ud83d'.repeat(100), version: '"'.repeat(100) },
  ]
  for (const client of clients) {
    const capabilities = { ...all, experimental, unknown: experimental } as SealedFacts['capabilities']
    const { id } = ids.seal({ ...facts, client, capabilities, principal: 'p'.repeat(43) }, 'server')
    assert.ok(id.length <= 720, String(id.length))
    const opened = ids.open(id, 'server')?.facts
    assert.equal([opened?.capabilities, opened?.principal], [all, 'p'.repeat(43)])
    assert.ok(client.name.startsWith(opened?.client.name ?? 'nothing'))
  }
  const plain = { name: 'claude-code', version: '2.0.14', title: 'Claude Code' }
  assert.equal(ids.open(ids.seal({ ...facts, client: plain, capabilities: all }, 's').id, 's')?.facts, {
    revision: '2025-11-25',
    client: plain,
    capabilities: all,
  })
})

test('wrong options are refused by name, and secrets are not shown', () => {
  const secret = 'short secret'
  const wrong: [unknown, string][] = [
    [undefined, 'options'],
    [{}, 'keys'],
    [{ keys: [] }, 'keys'],
    [{ keys: first }, 'keys'],
    [{ keys: Array(17).fill(first) }, 'keys'],
    [{ keys: [first, secret] }, 'keys[1]'],
    [{ keys: [Buffer.from(secret)] }, 'keys[0]'],
    [{ keys: [7] }, 'keys[0]'],
    [{ keys: [first], maxAge: 0 }, 'maxAge'],
    [{ keys: [first], maxAge: Number.POSITIVE_INFINITY }, 'maxAge'],
    [{ keys: [first], maxRevoked: 'many' }, 'maxRevoked'],
    [{ keys: [first], maxRevoked: 1.5 }, 'maxRevoked'],
    [{ keys: [first], now: 1 }, 'now'],
    [{ keys: [first], key: first }, 'key'],
  ]
  for (const [options, field] of wrong) {
    try {
      sealedIds(options as SealedIdsOptions)
      assert.unreachable(`${field} was taken`)
    } catch (error) {
      const { code, data, message } = error as { code?: string; data?: { field: string }; message: string }
      assert.equal([code, data?.field], ['BAD_OPTION', field])
      assert.not.match(message, /secret (?!s)|secret$/)
    }
  }
})

test.run()

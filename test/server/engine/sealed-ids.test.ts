import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { sealed, type SealedOptions } from 'caduceus/server'
import { SealedIds } from '../../../server/engine/sealed-ids.js'
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
  const { id, expiresAt } = new SealedIds({ keys: [first] }).seal(facts, 'server')
  assert.equal(new SealedIds({ keys: [first] }).open(id, 'server'), { id, facts, expiresAt })
  assert.match(id, /^[A-Za-z0-9_-]+$/)
  assert.not.match(Buffer.from(id, 'base64url').toString('latin1'), /client|2025|roots/)
})

test('no two ids are the same', () => {
  const ids = new SealedIds({ keys: [first] })
  assert.is(new Set(Array.from({ length: 100 }, () => ids.seal(facts, 'server').id)).size, 100)
})

test('a changed or differently spelled id is invalid', () => {
  const ids = new SealedIds({ keys: [first] })
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
  const { id } = new SealedIds({ keys: [first] }).seal(facts, 'server')
  assert.is(new SealedIds({ keys: [first] }).open(id, 'other'), undefined)
  assert.is(new SealedIds({ keys: [second] }).open(id, 'server'), undefined)
})

test('an id expires at its age', () => {
  let now = 1_000_000
  const ids = new SealedIds({ keys: [first], maxAge: 60_000 })
  const world = { ...systemWorld, date: () => now }
  const { id } = ids.seal(facts, 'server', world)
  now += 59_999
  assert.ok(ids.open(id, 'server', world))
  now += 1
  assert.is(ids.open(id, 'server', world), undefined)
})

test('keys are exchanged one after the other: the first seals, all of them open', () => {
  const old = new SealedIds({ keys: [first] })
  const between = new SealedIds({ keys: [second, first] })
  const young = new SealedIds({ keys: [second] })
  const before = old.seal(facts, 'server')
  const after = between.seal(facts, 'server')
  assert.equal(between.open(before.id, 'server')?.facts, facts)
  assert.equal(young.open(after.id, 'server')?.facts, facts)
  assert.is(young.open(before.id, 'server'), undefined)
  assert.is(old.open(after.id, 'server'), undefined)
})

test('a secret is text or bytes', () => {
  const bytes = new Uint8Array(32).fill(7)
  const { id } = new SealedIds({ keys: [bytes] }).seal(facts, 'server')
  assert.ok(new SealedIds({ keys: [Buffer.from(bytes)] }).open(id, 'server'))
})

test('an ended id is invalid; at the bound, expired and then oldest marks go', () => {
  let now = 1_000_000
  const ids = new SealedIds({ keys: [first], maxAge: 60_000, maxRevoked: 2 })
  const world = { ...systemWorld, date: () => now }
  const seal = () => ids.seal(facts, 'server', world)
  const isOpen = ({ id }: { id: string }) => ids.open(id, 'server', world) !== undefined
  const [a, b] = [seal(), seal()]
  now += 30_000
  const [c, d, e] = [seal(), seal(), seal()]
  assert.equal([a, b, c, d, e].map(isOpen), [true, true, true, true, true])
  ids.revoke(c, world)
  ids.revoke(a, world)
  assert.equal([a, b, c, d, e].map(isOpen), [false, true, false, true, true])
  now += 30_000 // a ends by itself
  ids.revoke(d, world)
  assert.equal([c, d, e].map(isOpen), [false, false, true])
  ids.revoke(e, world)
  assert.equal([c, d, e].map(isOpen), [true, false, false])
})

test('an id has at most 720 characters for any client facts', () => {
  const ids = new SealedIds({ keys: [first] })
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
      sealed(options as SealedOptions)
      assert.unreachable(`${field} was taken`)
    } catch (error) {
      const { code, data, message } = error as { code?: string; data?: { field: string }; message: string }
      assert.equal([code, data?.field], ['BAD_OPTION', field])
      assert.not.match(message, /secret (?!s)|secret$/)
    }
  }
})

test.run()

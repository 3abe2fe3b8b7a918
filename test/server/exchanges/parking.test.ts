import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { KeptOutcomes, Parking } from '../../../server/exchanges/parking.js'
import { suite } from '../../support/suite.js'

const test = suite('parking')

function lot(max = 1_000) {
  const clock = createFakeClock()
  const expired: string[] = []
  const parking = new Parking<{ owner: string | undefined; weight: number; expire(): void }>(max, clock)
  const park = (key: string, owner?: string, time = 1_000, weight = 1) =>
    parking.park(key, { owner, weight, expire: () => void expired.push(key) }, time)
  return { clock, expired, parking, park }
}

test('a parked call is handed out once', async () => {
  const { parking, park, clock, expired } = lot()
  assert.is(park('a', 'me'), true)
  assert.is(parking.take('a')?.owner, 'me')
  assert.is(parking.take('a'), undefined)
  await clock.advance(5_000)
  assert.equal([parking.size, expired], [0, []])
})

test('a parked call expires after its time, or ten minutes', async () => {
  const { parking, park, clock, expired } = lot()
  park('a', 'me', 1_000)
  park('b', 'me', 24 * 60 * 60_000)
  await clock.advance(999)
  assert.equal(expired, [])
  await clock.advance(1)
  assert.equal(expired, ['a'])
  await clock.advance(600_000 - 1_001)
  assert.equal(expired, ['a'])
  await clock.advance(1)
  assert.equal([expired, parking.size], [['a', 'b'], 0])
})

test('the lot is bounded in characters, given back by whoever leaves', () => {
  const { parking, park } = lot()
  const quarter = 16 * 1024 * 1024
  for (const key of ['a', 'b', 'c']) assert.ok(park(key, key, 1_000, quarter))
  assert.not.ok(park('d', 'd', 1_000, quarter + 1))
  assert.ok(park('d', 'd', 1_000, quarter))
  assert.not.ok(park('e', 'e'))
  parking.take('a')
  assert.ok(park('e', 'e'))
})

test('the lot is bounded per principal and in total', () => {
  const { parking, park } = lot(18)
  const parked = Array.from({ length: 17 }, (_, at) => park(`me ${at}`, 'me'))
  assert.equal(parked, [...new Array(16).fill(true), false])
  assert.equal([park('d'), park('e'), park('f'), park('g', 'you')], [true, true, false, false])
  parking.take('me 0')
  assert.equal([park('g', 'you'), park('h', 'you')], [true, false])
  parking.take('me 1')
  assert.equal([park('h', 'me'), park('i', 'me')], [true, false])
})

test('taking a parked call back frees room for one', () => {
  const { parking, park } = lot()
  for (let at = 0; at < 16; at += 1) assert.is(park(`me ${at}`, 'me'), true)
  parking.take('me 0')
  assert.equal([park('c', 'me'), park('d', 'me')], [true, false])
})

test('a replacing parked call ends the old one', () => {
  const { parking, park, expired } = lot(1)
  assert.equal([park('a', 'me'), park('a', 'you')], [true, true])
  assert.equal([expired, parking.take('a')?.owner], [['a'], 'you'])
})

test('parking can be switched off', () => {
  assert.is(lot(0).park('a'), false)
})

test('outcomes are kept for a time, and the oldest are evicted', () => {
  let now = 0
  const kept = new KeptOutcomes(() => now)
  const [a, b] = [outcome('a'), outcome('b')]
  kept.keep('a.1', a, 1_000)
  kept.keep('b.1', b, 9_000)
  assert.equal(kept.get('a.1'), a)
  now = 1_000
  assert.equal([kept.get('a.1'), kept.get('b.1'), kept.size], [undefined, b, 1])
  for (let count = 0; count < 1_000; count++) kept.keep(`c.${count}`, a, 9_000)
  assert.equal([kept.size, kept.get('b.1'), kept.get('c.0')], [1_000, undefined, a])
})

test('large outcomes push out the others', () => {
  const kept = new KeptOutcomes(() => 0)
  const large = outcome('x'.repeat(6 * 1024 * 1024))
  for (const key of ['a', 'b', 'c']) kept.keep(key, large, 1_000)
  assert.equal([kept.size, kept.get('a'), kept.get('c')], [2, undefined, large])
})

function outcome(text: string) {
  return { jsonrpc: '2.0' as const, id: 1, result: { text } }
}

test.run()

import * as assert from 'uvu/assert'
import { TurnoverMap, TurnoverSet } from '../../../runtime/base/turnover.js'
import { suite } from '../../support/suite.js'

const test = suite('turnover')

test('a set keeps what it is given, in order, through any number of deletions', () => {
  const set = new TurnoverSet<number>()
  const plain = new Set<number>()
  for (let i = 0; i < 1_000; i++) {
    set.add(i)
    plain.add(i)
    if (i % 3 !== 0) assert.equal([set.delete(i - 1), set.size], [plain.delete(i - 1), plain.size])
  }
  assert.equal([...set], [...plain])
  assert.equal([set.has(3), set.has(999), set.delete(-1)], [plain.has(3), plain.has(999), false])
})

test('set iteration skips deletions, also when the set moves to a fresh one', () => {
  const set = new TurnoverSet<number>()
  for (let i = 0; i < 100; i++) set.add(i)
  const seen: number[] = []
  for (const item of set) {
    seen.push(item)
    for (let other = item; other < item + 10; other++) set.delete(other)
  }
  assert.equal(seen, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90])
  assert.is(set.size, 0)
})

test('a map keeps the newest value per key, in order, through many deletions', () => {
  const map = new TurnoverMap<string, number>()
  for (let i = 0; i < 1_000; i++) {
    map.set(`${i}`, i)
    map.set(`${i}`, -i)
    if (i >= 3) assert.is(map.delete(`${i - 3}`), true)
  }
  assert.equal([...map.values()], [-997, -998, -999])
  assert.equal(
    [map.size, map.has('998'), map.get('998'), map.get('1'), map.delete('1')],
    [3, true, -998, undefined, false],
  )
})

test('map iteration skips deletions, also when the map moves to a fresh one', () => {
  const map = new TurnoverMap<number, number>()
  for (let i = 0; i < 100; i++) map.set(i, i)
  const seen: number[] = []
  for (const value of map.values()) {
    seen.push(value)
    for (let key = value; key < value + 50; key++) map.delete(key)
  }
  assert.equal(seen, [0, 50])
})

test('one thing after another is kept as well as several at once', () => {
  const set = new TurnoverSet<number>()
  const map = new TurnoverMap<number, string>()
  for (const one of [1, 2, 3]) {
    assert.equal([[...set], [...map.entries()], map.get(one)], [[], [], undefined])
    set.add(one)
    set.add(one)
    map.set(one, 'old')
    map.set(one, 'new')
    assert.equal([[...set], [...map.entries()], [...map.keys()]], [[one], [[one, 'new']], [one]])
    assert.equal([set.has(9), map.has(9), set.delete(9), map.delete(9)], [false, false, false, false])
    set.add(9)
    map.set(9, 'nine')
    assert.equal([[...set], [...map.values()], set.size, map.size], [[one, 9], ['new', 'nine'], 2, 2])
    assert.equal([set.delete(one), map.delete(one), [...set], map.get(9)], [true, true, [9], 'nine'])
    assert.equal([set.delete(9), map.delete(9), set.size, map.size], [true, true, 0, 0])
  }
})

test.run()

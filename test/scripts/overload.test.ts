import * as assert from 'uvu/assert'
import {
  aims,
  type Fate,
  growthOf,
  isMissed,
  quantile,
  summaryOf,
  type Told,
} from '../../scripts/bench/overload/figures.js'
import { suite } from '../support/suite.js'

const test = suite('figures of bench:overload')

function told(fate: Fate, times: readonly number[]): Told[] {
  return times.map((ms, at) => ({ at, ms, fate }))
}

test('what is served too late is no goodput, and counts among the slowest', () => {
  const calls = [
    ...told('served', [10, 20, 1_000, 1_001]),
    ...told('refused', [5, 1]),
    ...told('failed', [2]),
  ]
  const { goodput, served, servedP99, refused, refusedP99, failed } = summaryOf(calls, 2_000, 1_000)
  assert.equal({ goodput, served, servedP99 }, { goodput: 1.5, served: 4, servedP99: 1_001 })
  assert.equal({ refused, refusedP99, failed }, { refused: 2, refusedP99: 5, failed: 1 })
})

test('the slowest 1 % begins behind the other 99 %', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  assert.equal([quantile(hundred, 0.99), quantile(hundred, 0.5), quantile([7], 0.99)], [99, 50, 7])
  assert.ok(Number.isNaN(quantile([], 0.99)))
})

test('memory grows by the middle of its thirds, and not by one peak', () => {
  assert.is(growthOf([10, 10, 10, 90, 10, 10, 10, 90, 10]), 1)
  assert.is(growthOf([10, 10, 10, 15, 15, 15, 20, 20, 20]), 2)
})

test('an aim is missed by its figure alone', () => {
  const edges = { 'goodput, of the peak': [0.79, 0.8], 'refusals, p99 in ms': [20, 19.9] }
  for (const [aim, [missed, met]] of Object.entries(edges))
    assert.equal([isMissed(aim, Number(missed)), isMissed(aim, Number(met))], [true, false])
  for (const aim of Object.keys(aims)) assert.not.ok(isMissed(aim, Number.NaN))
  assert.not.ok(isMissed('served', 0))
})

test.run()

import * as assert from 'uvu/assert'
import { readSimOptions, type SimOptions, writeIds } from '../../../scripts/sim/options.js'
import { suite } from '../../support/suite.js'

const test = suite('the options of the simulation')

const read = (...args: string[]): SimOptions | string => readSimOptions(args, () => 77)

test('without options one seed runs, and any', () => {
  const { from, to, operations, jobs } = read() as SimOptions
  assert.equal({ from, to, operations, jobs }, { from: 77, to: 77, operations: 200, jobs: 2 })
})

test('seeds are one, a range, or as many as there is time for', () => {
  const seeds = (...args: string[]): unknown[] => {
    const { from, to } = read(...args) as SimOptions
    return [from, to]
  }
  assert.equal(seeds('--seed', '5'), [5, 5])
  assert.equal(seeds('--seeds', '5-9'), [5, 9])
  assert.equal(seeds('--seed', '5', '--minutes', '0.5'), [5, undefined])
  assert.equal(seeds('--seeds', '5-9', '--minutes', '1'), [5, 9])
})

test('faults and acts parse as numbers and ranges', () => {
  const { faults, acts } = read('--seed', '1', '--faults', '2,5-7', '--acts', 'none') as SimOptions
  assert.equal([...(faults ?? [])], [2, 5, 6, 7])
  assert.is(acts?.size, 0)
  const given = read('--seed', '1', '--faults', '2:40,5-7') as SimOptions
  assert.equal([...(given.faults ?? [])], [2, 5, 6, 7])
  assert.equal([...given.lasts], [[2, 40]])
  assert.is(writeIds([7, 2, 5, 6]), '2,5-7')
  assert.is(writeIds([]), 'none')
})

const wrong: readonly (readonly [string, RegExp])[] = [
  ['--sed 4', /Unknown option '--sed'/],
  ['4', /Unexpected argument '4'/],
  ['--seed -1', /--seed/],
  ['--seed 1.5', /--seed: expected a whole number/],
  ['--seed 1 --seeds 1-2', /--seed and --seeds: expected one of them/],
  ['--seeds 9-2', /--seeds: expected A-B/],
  ['--seeds 4', /--seeds: expected A-B/],
  ['--minutes 0', /--minutes: expected a number above 0/],
  ['--operations 0', /--operations: expected a whole number from 1/],
  ['--jobs many', /--jobs: expected a whole number from 1/],
  ['--seed 1 --faults 1,x', /--faults: expected numbers and ranges/],
  ['--seeds 1-2 --faults 1', /--faults and --acts: expected one seed/],
  ['--seeds 1-2 --trace', /--trace: expected one seed/],
]
for (const [line, message] of wrong)
  test(`a sentence says what is wrong with ${line}`, () => {
    const answer = read(...line.split(' '))
    assert.match(String(answer), message)
    assert.match(String(answer), /^sim: /)
  })

test.run()

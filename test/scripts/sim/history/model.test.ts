// second tier: time
// time limit: 120 s
import * as assert from 'uvu/assert'
import { check, checkers, showViolation } from '../../../../scripts/sim/history/check.js'
import { createRandom } from '../../../../scripts/soak/random.js'
import { suite } from '../../../support/suite.js'
import { modelFacts, rightHistory } from './_model.js'
import { mutations } from './_mutations.js'

const test = suite('histories of a model', { timeout: 60_000 })
const seeds = Number(process.env.MODEL_RUNS ?? 100)

test('a correct server passes, whatever happens to it', () => {
  const seen = new Set<string>()
  for (let seed = 0; seed < seeds; seed++) {
    const history = rightHistory(seed)
    for (const { type } of history) seen.add(type)
    const found = check(history, modelFacts)
    assert.equal(
      found.map((one) => `seed ${seed}: ${showViolation(one, history)}`),
      [],
    )
  }
  for (const type of ['ok', 'fail', 'cancel', 'restored', 'ended', 'died', 'received', 'restarted'])
    assert.ok(seen.has(type), `no ${type} in any history`)
})

for (const { name, checker, apply } of mutations)
  test(`${name}: found by ${checker}`, () => {
    let tried = 0
    for (let seed = 0; seed < seeds / 4; seed++) {
      const history = apply(rightHistory(seed), createRandom(seed))
      if (history === undefined) continue
      tried += 1
      const found = check(history, modelFacts)
      const by = found.map((one) => one.checker)
      assert.ok(by.includes(checker), `seed ${seed}: found by ${by.join() || 'none'}`)
      for (const { kind, events } of found)
        assert.ok(events.length > 0 && events.every((index) => history[index] !== undefined), kind)
    }
    assert.ok(tried > seeds / 40, `${tried} histories had something that could be wrong so`)
  })

test('every checker is shown to find something', () => {
  const shown = new Set(mutations.map(({ checker }) => checker))
  assert.equal(
    Object.keys(checkers).filter((name) => !shown.has(name)),
    [],
  )
})

test.run()

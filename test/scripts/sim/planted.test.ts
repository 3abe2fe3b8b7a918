// second tier: seeds
// time limit: 480 s
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { checkers } from '../../../scripts/sim/history/check.js'
import { testedSeeds } from '../../../scripts/sim/known-seeds.js'
import { type Bug, bugs } from '../../../scripts/sim/planted/bugs.js'
import { findBug, startRunner, usualOperations } from '../../../scripts/sim/planted/find.js'
import { plantIn } from '../../../scripts/sim/planted/plant.js'
import { showSearch } from '../../../scripts/sim/planted/report.js'
import { showVerdict } from '../../../scripts/sim/tally.js'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('planted bugs', { timeout: 400_000 })

/** Those that a search has found. */
const known = bugs.flatMap((bug) => (bug.seed === undefined ? [] : [{ ...bug, seed: bug.seed }]))

test('each planted bug is found by its checker and stands where the list says', () => {
  const judges = new Set(bugs.map(({ checker }) => checker))
  assert.equal([...judges].sort(), Object.keys(checkers).sort())
  assert.is(new Set(bugs.map(({ name }) => name)).size, bugs.length)
  for (const bug of bugs) {
    const source = readFileSync(inRoot(...bug.file.split('/')), 'utf8')
    assert.is.not(plantIn(bug, source), source, bug.name)
  }
})

test('a planted bug whose place has moved names the file to correct', () => {
  const bug: Bug = {
    name: 'early answer',
    what: '',
    file: 'server/a.ts',
    find: 'await save()',
    replace: 'save()',
    checker: 'lists',
    seed: 1,
  }
  assert.is(plantIn(bug, 'a; await save(); b'), 'a; save(); b')
  const tell = (source: string): string => {
    try {
      return plantIn(bug, source)
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.match(
    tell('a; b'),
    /'early answer' changes one place in server\/a\.ts, and it is not there any more/,
  )
  assert.match(tell('await save(); await save()'), /it is there 2 times/)
  assert.match(tell('a'), /scripts\/sim\/planted\/bugs\.ts:\nawait save\(\)/)
})

test('each bug is found by the seed that is known, which is clean without it', async (t) => {
  // one process for all: what it takes to load the library and to warm it up is paid once
  const runner = startRunner(known)
  t.after(() => runner.end())
  const wrong: string[] = []
  const isDone = new Set<string>()
  for (const bug of known) {
    const { seed, clusters = false, operations = usualOperations } = bug
    const found = await findBug(bug, { seeds: 1, signal: t.signal }, runner)
    if (found.seed === undefined) wrong.push(showSearch(bug, found))
    const key = `${seed} ${clusters} ${operations}`
    // that one is clean is shown by seeds.test.ts
    const isTested = testedSeeds.includes(seed) && operations === usualOperations && !clusters
    if (isDone.has(key) || isTested) continue
    isDone.add(key)
    const verdict = await runner.run(seed, { clusters, operations }, t.signal)
    if (verdict.wrong.length > 0) wrong.push(`without a bug: ${showVerdict(verdict)}`)
  }
  assert.equal(wrong, [])
})

test.run()

// time limit: 120 s
import { suite } from '../../support/suite.js'
import { hold } from './_trees.js'

const test = suite('random trees', { timeout: 110_000 })
const runs = Number(process.env.TREES_RUNS ?? 30)
const fresh = Number(process.env.TREES_SEED ?? Date.now() % 2 ** 31)

test(`${runs} known tree lives: one incarnation at a time, no orphan, no hang`, () => hold(424_242, runs))

test(`${runs} new tree lives keep the promises, too (TREES_SEED=${fresh})`, () => hold(fresh, runs))

test.run()

import * as assert from 'uvu/assert'
import { expiry } from '../../../../scripts/sim/history/checkers/expiry.js'
import { suite } from '../../../support/suite.js'
import { kindsOf, story, type Told } from './_story.js'

const test = suite('histories: expiry')
const idle = new Map([['s1', 1_000]])
const released = (unused?: number): Told => ({
  type: 'released',
  program: 's1',
  session: 'a',
  ...(unused !== undefined && { unused }),
})

test('a session that nobody used for long enough, or that did not end by itself', () => {
  assert.equal(kindsOf(expiry, story(released(1_000)), { idle }), [])
  assert.equal(kindsOf(expiry, story(released()), { idle }), [])
})

test('a session that was used shortly before', () => {
  assert.equal(kindsOf(expiry, story(released(990)), { idle }), ['session in use'])
  assert.equal(kindsOf(expiry, story(released(0)), { idle }), ['session in use'])
})

test('a claim or a lease of a node that lives', () => {
  const claim: Told = { type: 'expired', program: 's1', what: 'claim', session: 'a', alive: 5_000 }
  const lease: Told = { type: 'expired', program: 's1', what: 'lease', alive: 5_000 }
  assert.equal(kindsOf(expiry, story(claim, lease)), ['claim in use', 'lease in use'])
})

test.run()

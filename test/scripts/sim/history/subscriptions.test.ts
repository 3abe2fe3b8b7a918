import * as assert from 'uvu/assert'
import { subscriptions } from '../../../../scripts/sim/history/checkers/subscriptions.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, story, type Told } from './_story.js'

const test = suite('histories: subscriptions')
const uri = 'sim://note/1'
const find = (...events: readonly Told[]): readonly string[] =>
  kindsOf(subscriptions, story(...events), { toldWithin: 100 })
const subscribe = (call: string): Told => asked(call, { operation: 'subscribe', uri })
const unsubscribe = (call: string): Told => asked(call, { operation: 'unsubscribe', uri })
const changed: Told = { type: 'changed', program: 's1', uri, clients: ['a'] }
const told: Told = {
  type: 'received',
  program: 'p',
  client: 'a',
  kind: 'updated',
  payload: uri,
  broadcast: true,
}

test('who has subscribed is told', () => {
  assert.equal(find(subscribe('1'), ok('1'), changed, told), [])
})

test('who has subscribed is not told, or of something else, or too late', () => {
  assert.equal(find(subscribe('1'), ok('1'), changed), ['not told'])
  assert.equal(find(subscribe('1'), ok('1'), told, changed), ['not told'])
  assert.equal(find(subscribe('1'), ok('1'), changed, { ...told, client: 'b' }), ['not told'])
  assert.equal(find(subscribe('1'), ok('1'), changed, { ...told, payload: 'sim://note/2' }), ['not told'])
  assert.equal(find(subscribe('1'), ok('1'), { ...changed, at: 50 }, { ...told, at: 151 }), ['not told'])
})

test('who has not subscribed, or has taken it back, perhaps, need not be told', () => {
  assert.equal(find(changed), [])
  assert.equal(find(subscribe('1'), failed('1', true), changed), [])
  assert.equal(find(subscribe('1'), ok('1'), unsubscribe('2'), changed), [])
  assert.equal(find(subscribe('1'), subscribe('2'), ok('1'), failed('2', true), changed), [])
  assert.equal(find(subscribe('1'), ok('1'), { type: 'died', program: 'p' }, changed), [])
})

test('a subscription counts again that is made after it was taken back', () => {
  const again = [subscribe('1'), ok('1'), unsubscribe('2'), ok('2'), subscribe('3'), ok('3')]
  assert.equal(find(...again, changed), ['not told'])
  assert.equal(find(...again, changed, told), [])
})

test('who was not told of a change may be told of the next one', () => {
  assert.equal(find(subscribe('1'), ok('1'), changed, changed, told), [])
  assert.equal(find(subscribe('1'), ok('1'), changed, changed), ['not told'])
  assert.equal(find(subscribe('1'), ok('1'), changed, { ...changed, clients: [] }), ['not told'])
})

test.run()

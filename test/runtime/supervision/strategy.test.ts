import * as assert from 'uvu/assert'
import { crash, isNormal, killed, noproc, normal, shutdown, shutdownWith } from 'caduceus/runtime'
import { restartPlan, shouldRestart } from '../../../runtime/supervision/strategy.js'
import { suite } from '../../support/suite.js'

const test = suite('strategy')

const ends = [normal, shutdown, shutdownWith('detail'), killed, noproc, crash(new Error('broken'))]
const order = ['a', 'b', 'c', 'd']

test('OTP-32 normal and shutdown, with or without detail, are the normal exits', () => {
  assert.equal(ends.map(isNormal), [true, true, true, false, false, false])
})

test('OTP-33 a permanent child is restarted after every exit', () => {
  assert.ok(ends.every((reason) => shouldRestart('permanent', reason)))
})

test('OTP-34 JS-5 a transient child is restarted only after abnormal exits', () => {
  assert.equal(
    ends.map((reason) => shouldRestart('transient', reason)),
    [false, false, false, true, true, true],
  )
})

test('OTP-35 a temporary child is never restarted', () => {
  assert.ok(!ends.some((reason) => shouldRestart('temporary', reason)))
})

test('OTP-40 one_for_one starts the dead child and touches no other', () => {
  assert.equal(restartPlan('one_for_one', order, 'b'), { stop: [], start: ['b'] })
})

test('OTP-41 one_for_all stops the others in reverse order and starts all in order', () => {
  assert.equal(restartPlan('one_for_all', order, 'b'), { stop: ['d', 'c', 'a'], start: order })
})

test('OTP-42 rest_for_one plan: stop later ones in reverse, start all in order', () => {
  assert.equal(restartPlan('rest_for_one', order, 'b'), { stop: ['d', 'c'], start: ['b', 'c', 'd'] })
  assert.equal(restartPlan('rest_for_one', order, 'd'), { stop: [], start: ['d'] })
  assert.equal(restartPlan('rest_for_one', order, 'a'), { stop: ['d', 'c', 'b'], start: order })
})

test('a plan leaves the list of children as it is', () => {
  const children = [...order]
  restartPlan('one_for_all', children, 'a').start.pop()
  assert.equal(children, order)
})

test.run()

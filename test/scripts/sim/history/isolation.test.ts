import * as assert from 'uvu/assert'
import { isolation } from '../../../../scripts/sim/history/checkers/isolation.js'
import type { Received } from '../../../../scripts/sim/history/history.js'
import { suite } from '../../../support/suite.js'
import { asked, kindsOf, ok, ran, story, type Told } from './_story.js'

const test = suite('histories: isolation')
const ofB = { client: 'b' }
const got = (client: string, payload: string, more: Partial<Received> = {}): Told => ({
  type: 'received',
  program: 'p',
  client,
  kind: 'log',
  payload,
  broadcast: false,
  ...more,
})
const sent = (payload: string, more: { token?: string; session?: string }): Told => ({
  type: 'emitted',
  program: 's1',
  stream: 'x',
  sequence: 1,
  kind: 'log',
  payload,
  ...more,
})

test('accepts clients that each use their own session', () => {
  const history = story(
    { type: 'opened', program: 's1', session: 'la', principal: 'ann' },
    { type: 'opened', program: 's1', session: 'lb', principal: 'bob' },
    asked('1', { principal: 'ann', operation: 'append' }),
    asked('2', { ...ofB, principal: 'bob' }),
    ran('1', { session: 'la', principal: 'ann' }),
    ran('2', { session: 'lb', principal: 'bob' }),
    sent('x1', { token: '1' }),
    sent('y1', { session: 'lb' }),
    got('a', 'x1'),
    got('b', 'y1'),
    ok('1', { value: '1', list: 'la', elements: ['1'] }),
    ok('2', { value: '2', list: 'lb', elements: [] }),
    { type: 'restored', program: 's2', session: 'la', principal: 'ann' },
  )
  assert.equal(kindsOf(isolation, history), [])
})

test('accepts clients that share a session', () => {
  const shared = (via?: string) =>
    story(
      asked('1', via === undefined ? {} : { via }),
      ran('1', { session: 'l' }),
      asked('2', { ...ofB, ...(via !== undefined && { via }) }),
      ran('2', { session: 'l' }),
      sent('x1', { session: 'l' }),
      got('a', 'x1'),
      got('b', 'x1'),
    )
  assert.equal(kindsOf(isolation, shared('both')), [])
  assert.equal(kindsOf(isolation, shared()), ['event of another client', 'one session of two clients'])
})

test('finds a handler run as another principal or in the session of one', () => {
  const as = (caller: string, runner: string) =>
    story(
      { type: 'opened', program: 's1', session: 'l', principal: 'ann' },
      asked('1', { principal: caller }),
      ran('1', { session: 'l', principal: runner }),
    )
  assert.equal(kindsOf(isolation, as('ann', 'ann')), [])
  assert.equal(kindsOf(isolation, as('bob', 'ann')), ['ran as another principal'])
  assert.equal(kindsOf(isolation, as('bob', 'bob')), ['ran in the session of another principal'])
})

test('finds a session continued for another principal', () => {
  const history = story(
    { type: 'opened', program: 's1', session: 'l', principal: 'ann' },
    { type: 'restored', program: 's1', session: 'l', principal: 'bob' },
  )
  assert.equal(kindsOf(isolation, history), ['session of another principal'])
})

test('finds an answer, a list or an element of another client', () => {
  const calls = [asked('1'), asked('2', ofB)]
  const answered = story(...calls, ok('1', { value: '2' }))
  assert.equal(kindsOf(isolation, answered), ['answer of another call'])
  const expecting = [asked('1', { expected: '<1>' }), asked('2', { expected: '<2>' })]
  const own = story(...expecting, ok('2', { value: '<1>' }), ok('1', { value: '<1>' }))
  assert.equal(kindsOf(isolation, own), ['answer of another call'])
  const common = [asked('1', { expected: 'all' }), asked('2', { expected: 'all' })]
  assert.equal(kindsOf(isolation, story(...common, ok('1', { value: 'all' }))), [])
  const listed = story(...calls, ok('1', { list: 'l' }), ok('2', { list: 'l' }))
  assert.equal(kindsOf(isolation, listed), ['list of another session'])
  const seen = story(...calls, ok('1', { list: 'l', elements: ['2'] }))
  assert.equal(kindsOf(isolation, seen), ['element of another session'])
})

test('finds an event of another client or call', () => {
  const token = story(asked('1'), sent('x1', { token: '1' }), got('b', 'x1'))
  assert.equal(kindsOf(isolation, token), ['event of another client'])
  const session = story(asked('1'), ran('1', { session: 'l' }), sent('x1', { session: 'l' }), got('b', 'x1'))
  assert.equal(kindsOf(isolation, session), ['event of another client'])
  const call = story(asked('1'), asked('2'), sent('x1', { token: '1' }), got('a', 'x1', { call: '2' }))
  assert.equal(kindsOf(isolation, call), ['event of another call'])
})

test('a client hears only changes that it asked for', () => {
  const told = got('a', 'some://uri', { kind: 'updated', broadcast: true })
  const wish = asked('1', { operation: 'subscribe', uri: 'some://uri' })
  assert.equal(kindsOf(isolation, story(wish, told)), [])
  assert.equal(kindsOf(isolation, story(told, wish)), ['told unasked'])
  assert.equal(
    kindsOf(isolation, story(asked('1', { ...ofB, operation: 'subscribe', uri: 'some://uri' }), told)),
    ['told unasked'],
  )
})

test.run()

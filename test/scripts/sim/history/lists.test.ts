import * as assert from 'uvu/assert'
import { lists } from '../../../../scripts/sim/history/checkers/lists.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, ran, story, type Told } from './_story.js'

const test = suite('histories: lists')
const append = (call: string, more = {}): Told => asked(call, { operation: 'append', most: 1, ...more })
const read = (call: string, more = {}): Told => asked(call, { operation: 'read', ...more })
/** What the list of session `l` held, by an answer to `call`. */
const saw = (call: string, ...elements: string[]): Told => ok(call, { list: 'l', elements })

test('accepts sequential appends and their reads', () => {
  const history = story(
    append('a'),
    saw('a', 'a'),
    read('r'),
    saw('r', 'a'),
    append('b'),
    saw('b', 'a', 'b'),
    read('s'),
    saw('s', 'a', 'b'),
  )
  assert.equal(kindsOf(lists, history), [])
})

test('accepts concurrent appends in any order on which all reads agree', () => {
  const history = story(
    append('a'),
    append('b'),
    read('r'),
    saw('a', 'b', 'a'),
    saw('b', 'b'),
    saw('r', 'b'),
    read('s'),
    saw('s', 'b', 'a'),
  )
  assert.equal(kindsOf(lists, history), [])
  const forked = story(append('a'), append('b'), saw('a', 'a'), saw('b', 'b'))
  assert.equal(kindsOf(lists, forked), ['fork'])
})

test('accepts an append of unknown outcome from any moment on, or never', () => {
  const late = story(append('x'), failed('x', true), read('r'), saw('r'), read('s'), saw('s', 'x'))
  assert.equal(kindsOf(lists, late), [])
  const never = story(append('x'), failed('x', true), append('a'), saw('a', 'a'), read('r'), saw('r', 'a'))
  assert.equal(kindsOf(lists, never), [])
  const open = story(append('x'), append('a'), saw('a', 'x', 'a'))
  assert.equal(kindsOf(lists, open), [])
})

test('finds the loss of an append of unknown outcome once it was seen', () => {
  const gone = story(append('x'), failed('x', true), read('r'), saw('r', 'x'), read('s'), saw('s'))
  assert.equal(kindsOf(lists, gone), ['went back'])
})

test('finds an acknowledged append that a later read lacks', () => {
  const lost = ['acknowledged append lost']
  const history = story(append('a'), saw('a', 'a'), append('b'), saw('b', 'a', 'b'), read('r'), saw('r', 'a'))
  assert.equal(kindsOf(lists, history), ['acknowledged append lost', 'went back'])
  const silent = story(append('a'), ok('a', { list: 'l' }), read('r'), saw('r'))
  assert.equal(kindsOf(lists, silent), lost)
  const later = story(append('a'), ok('a', { list: 'l' }), read('r'), saw('r'), read('s'), saw('s', 'a'))
  assert.equal(kindsOf(lists, later), lost)
})

test('finds a lost append that another one has replaced', () => {
  const history = story(append('a'), saw('a', 'a'), append('b'), saw('b', 'b'))
  assert.equal(kindsOf(lists, history), ['fork'])
})

test('finds an append missing from its own acknowledgement', () => {
  assert.equal(kindsOf(lists, story(append('a'), saw('a'))), ['append without effect'])
})

test('finds an append that was reported unsent', () => {
  const history = story(append('a'), failed('a', false), read('r'), saw('r', 'a'))
  assert.equal(kindsOf(lists, history), ['appended, though told unsent'])
})

test('finds an append that is there once too often', () => {
  const twice = (most: number) => story(append('a', { most }), saw('a', 'a', 'a'))
  assert.equal(kindsOf(lists, twice(1)), ['appended too often'])
  assert.equal(kindsOf(lists, twice(2)), [])
})

test('finds an element nobody appended, or one in two lists', () => {
  assert.equal(kindsOf(lists, story(read('r'), saw('r', 'x'))), ['element of nobody'])
  const both = story(append('a'), saw('a', 'a'), read('r'), ok('r', { list: 'm', elements: ['a'] }))
  assert.equal(kindsOf(lists, both), ['in two lists'])
})

test('real time: an acknowledged append precedes later ones', () => {
  const swapped = story(
    append('a'),
    ok('a', { list: 'l' }),
    append('b'),
    ok('b', { list: 'l' }),
    read('r'),
    saw('r', 'b', 'a'),
  )
  assert.equal(kindsOf(lists, swapped), ['out of order'])
  const early = story(read('r'), saw('r', 'a'), append('a'), saw('a', 'a'))
  assert.equal(kindsOf(lists, early), ['seen before it was made'])
})

test('finds a restored session with less than was acknowledged or saved', () => {
  const back = (...elements: string[]): Told => ({ type: 'restored', program: 's2', session: 'l', elements })
  const acknowledged = [append('a'), saw('a', 'a')]
  assert.equal(kindsOf(lists, story(...acknowledged, back('a'))), [])
  const lost = story(...acknowledged, back())
  assert.equal(kindsOf(lists, lost), ['acknowledged append lost', 'went back'])
  const saved: Told = { type: 'saved', program: 's1', session: 'l', elements: ['a'] }
  assert.equal(kindsOf(lists, story(append('a'), saved, back('a'), failed('a', true))), [])
  assert.equal(kindsOf(lists, story(append('a'), saved, back(), failed('a', true))), ['went back'])
  const earlier: Told = { type: 'saved', program: 's1', session: 'l', elements: [] }
  assert.equal(kindsOf(lists, story(...acknowledged, earlier, back('a'))), [])
})

test('a lasting session may be new only after an end or a client restart', () => {
  const anew = (...between: Told[]) =>
    story(append('a'), saw('a', 'a'), ...between, read('r'), ok('r', { list: 'm', elements: [] }))
  const lasting = { lasting: new Set(['a']) }
  assert.equal(kindsOf(lists, anew(), lasting), ['session lost'])
  assert.equal(kindsOf(lists, anew(), { ...lasting, store: 'memory' }), [])
  assert.equal(kindsOf(lists, anew(), {}), [])
  assert.equal(kindsOf(lists, anew({ type: 'ended', program: 's1', session: 'l' }), lasting), [])
  assert.equal(kindsOf(lists, anew({ type: 'fault', verb: 'crash', target: 'a' }), lasting), [])
  assert.equal(kindsOf(lists, anew({ type: 'fault', verb: 'kill', target: 's1' }), lasting), ['session lost'])
})

test('accepts a session with several lists', () => {
  const next = ok('b', { list: 'l/1', elements: ['b'] })
  const history = story(append('a'), ok('a', { list: 'l/0', elements: ['a'] }), append('b'), next)
  assert.equal(kindsOf(lists, history, { lasting: new Set(['a']) }), [])
})

test('accepts a fresh start of a session whose id outlives its memory', () => {
  const begun: Told = { type: 'started', program: 's1' }
  const in1 = (token: string): Told => ran(token, { operation: 'append', session: 'l' })
  const history = story(
    begun,
    append('a'),
    in1('a'),
    append('b'),
    in1('b'),
    { type: 'died', program: 's1' },
    begun,
    append('c'),
    in1('c'),
    saw('b', 'a', 'b'),
    saw('a', 'a'),
    saw('c', 'c'),
  )
  assert.equal(kindsOf(lists, history, { store: 'memory' }), [])
  assert.equal(kindsOf(lists, history, { store: 'durable' }), ['fork'])
  const kept = story(begun, append('a'), in1('a'), saw('a', 'a'), append('c'), in1('c'), saw('c', 'c'))
  assert.equal(kindsOf(lists, kept, { store: 'memory' }), ['fork'], 'its program is the same')
})

test('accepts an empty memory after its holder restarts', () => {
  const in1 = (token: string): Told => ran(token, { operation: 'append', session: 'l' })
  const restarted = (child: string): Told => ({
    type: 'restarted',
    program: 's1',
    supervisor: 'server',
    child,
    round: 1,
    since: 0,
    intensity: 3,
    period: 5_000,
  })
  const killing = (child: string) =>
    story(
      { type: 'started', program: 's1' },
      append('a'),
      in1('a'),
      saw('a', 'a'),
      restarted(child),
      append('b'),
      in1('b'),
      saw('b', 'b'),
    )
  assert.equal(kindsOf(lists, killing('holdings'), { store: 'memory' }), [])
  assert.equal(kindsOf(lists, killing('base'), { store: 'memory' }), ['fork'])
})

test('accepts a late answer of an old session', () => {
  const history = story(
    append('a'),
    append('b'),
    { type: 'ended', program: 's1', session: 'l' },
    append('c'),
    ok('c', { list: 'm', elements: ['c'] }),
    saw('b', 'b'),
    read('r'),
    ok('r', { list: 'm', elements: ['c'] }),
    ran('a', { operation: 'append' }),
    failed('a', true),
  )
  assert.equal(kindsOf(lists, history, { lasting: new Set(['a']) }), [])
})

test.run()

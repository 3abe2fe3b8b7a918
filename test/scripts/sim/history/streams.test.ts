import * as assert from 'uvu/assert'
import { streams } from '../../../../scripts/sim/history/checkers/streams.js'
import type { Emitted, Received } from '../../../../scripts/sim/history/history.js'
import { suite } from '../../../support/suite.js'
import { asked, failed, kindsOf, ok, ran, story, type Told } from './_story.js'

const test = suite('histories: streams')
/** Number `sequence` of stream `x`, known by that. */
const sent = (sequence: number, more: Partial<Emitted> = {}): Told => ({
  type: 'emitted',
  program: 's1',
  stream: 'x',
  sequence,
  kind: 'log',
  payload: `${more.stream ?? 'x'}${sequence}`,
  ...more,
})
const got = (payload: string, more: Partial<Received> = {}): Told => ({
  type: 'received',
  program: 'p',
  client: 'a',
  kind: 'log',
  payload,
  broadcast: false,
  ...more,
})

test('accepts events in order, also without the rest', () => {
  assert.equal(kindsOf(streams, story(sent(1), got('x1'), sent(2), sent(3), got('x2'))), [])
  const broadcast = got('some://uri', { kind: 'updated', broadcast: true })
  assert.equal(kindsOf(streams, story(broadcast, broadcast)), [])
})

test('finds an event that arrives twice or out of order', () => {
  assert.equal(kindsOf(streams, story(sent(1), got('x1'), got('x1'))), ['repeat'])
  assert.equal(kindsOf(streams, story(sent(1), sent(2), got('x2'), got('x1'))), ['disorder'])
  const kinds = story(sent(1), sent(2, { kind: 'progress' }), got('x2', { kind: 'progress' }), got('x1'))
  assert.equal(kindsOf(streams, kinds), [], 'progress and logs have handlers of their own')
})

test('finds a missing event before later ones', () => {
  const history = story(sent(1), sent(2), sent(3), got('x1'), got('x3'))
  assert.equal(kindsOf(streams, history), ['gap'])
  assert.equal(kindsOf(streams, history, { lossyStreams: new Set(['x']) }), [])
})

test('finds an event not sent, not yet sent, or sent as another kind', () => {
  assert.equal(kindsOf(streams, story(got('x1'))), ['from nowhere'])
  assert.equal(kindsOf(streams, story(sent(1), got('x1', { kind: 'progress' }))), ['as another kind'])
  assert.equal(kindsOf(streams, story(got('x1'), sent(1))), ['before it was sent'])
  assert.equal(kindsOf(streams, story(got('x1'), sent(1)), { ordered: false }), [])
})

test('finds a gap up to the end of a complete stream', () => {
  const history = story(sent(1), sent(2), got('x1'))
  assert.equal(kindsOf(streams, history, { wholeStreams: new Set(['x']) }), ['broken off'])
  assert.equal(kindsOf(streams, history, { wholeStreams: new Set(['y']) }), [])
})

test('accepts the absence of events without a handler', () => {
  const history = story(
    asked('1'),
    ran('1'),
    sent(1, { token: '1' }),
    sent(2, { token: '1', kind: 'progress' }),
    got('x2', { kind: 'progress' }),
    ok('1'),
  )
  assert.equal(kindsOf(streams, history), ['gap'])
  assert.equal(kindsOf(streams, history, { deaf: new Map([['p', new Set(['log'] as const)]]) }), [])
  assert.equal(kindsOf(streams, history, { deaf: new Map([['p', new Set(['updated'] as const)]]) }), ['gap'])
  assert.equal(kindsOf(streams, history, { deaf: new Map([['q', new Set(['log'] as const)]]) }), ['gap'])
})

test('progress after the end of its call may be missing, earlier progress may not', () => {
  const begun = [asked('1'), ran('1'), sent(1, { token: '1', kind: 'progress' })]
  const late = [sent(2, { token: '1' }), got('x2')]
  assert.equal(kindsOf(streams, story(...begun, failed('1', true, 'CANCELLED'), ...late)), [])
  assert.equal(kindsOf(streams, story(...begun, ...late, failed('1', true, 'CANCELLED'))), ['gap'])
})

test('finds a missing event before the answer of a successful call', () => {
  const ranTo: Told = { type: 'ranTo', program: 's1', run: 'run of 1', end: 'ok' }
  const call = (end: Told, ...between: Told[]) => story(asked('1'), ran('1'), ...between, end)
  const one = sent(1, { token: '1' })
  assert.equal(kindsOf(streams, call(ok('1'), one, got('x1'), ranTo)), [])
  assert.equal(kindsOf(streams, call(ok('1'), one, ranTo)), ['broken off'])
  assert.equal(kindsOf(streams, call(ok('1'), ranTo, one)), [], 'after the answer it may be dropped')
  assert.equal(kindsOf(streams, call(failed('1', true), one, ranTo)), [])
  const twice = call(ok('1'), one, ran('1', { run: 'again' }))
  assert.equal(kindsOf(streams, twice), [], 'the answer may be of the other run')
  assert.equal(kindsOf(streams, call(ok('1'), one, ranTo), { lossyStreams: new Set(['x']) }), [])
})

test.run()

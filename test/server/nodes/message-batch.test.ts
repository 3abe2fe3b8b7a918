import { equal, is, not, ok } from 'uvu/assert'
import { packMessage, readBatch, writeBatch } from '../../../server/nodes/message-batch.js'
import { recordOf, recordText } from '../../../server/nodes/record-text.js'
import type { StreamPlace } from '../../../server/engine/engine.js'
import { readEntries, writeEntry } from '../../../server/nodes/stream-entries.js'
import { Seal } from '../../../server/nodes/seal.js'
import { suite } from '../../support/suite.js'
import { recordOf as recordWith } from './_members.js'

const test = suite('what nodes write')
const head = { from: 'a', fromIncarnation: 1, to: 'b', toIncarnation: 2, number: 3 }
const over = { for: 'port', what: { type: 'over', id: 'x' } } as const
const streams = {
  for: 'streams',
  what: { type: 'report', report: { type: 'stopped', follow: 'x' } },
} as const

test('a batch is read as it was written', () => {
  for (const keys of [undefined, ['one key of a cluster'], ['another one', 'one key of a cluster']]) {
    const seal = new Seal(keys)
    const text = writeBatch(head, [packMessage(over), packMessage(streams)], seal)
    equal(readBatch(text, seal), { ...head, messages: [over, streams] })
  }
})

test('a changed or unsigned batch is refused', () => {
  const seal = new Seal(['one key of a cluster'])
  const text = writeBatch(head, [packMessage(over)], seal)
  for (let at = 0; at < text.length; at += 1) {
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
    // the last character of a signature has bits that say nothing
    if (at !== text.indexOf('\n') - 1) is(readBatch(changed, seal), undefined, changed)
  }
  for (const other of [[undefined], [['another key']]])
    is(readBatch(writeBatch(head, [packMessage(over)], new Seal(...other)), seal), undefined)
  is(
    seal.open({ kind: 'news' }, text, (opened) => opened),
    undefined,
  )
})

test('a sealed text opens only as its own kind and for its own session', () => {
  const seal = new Seal(['one key of a cluster'])
  const same = (text: string): string => text
  const text = seal.close({ kind: 'session', place: 'ada' }, 'text')
  is(seal.open({ kind: 'session', place: 'ada' }, text, same), 'text')
  let isRead = false
  for (const other of [
    { kind: 'session', place: 'bob' },
    { kind: 'session' },
    { kind: 'task', place: 'ada' },
    { kind: 'event', place: 'ada' },
  ] as const)
    is(
      seal.open(other, text, () => {
        isRead = true
      }),
      undefined,
    )
  is(isRead, false)
  const [ada, bob] = ['ada', 'bob'].map((session) => ({ session, stream: 'c1' })) as [
    StreamPlace,
    StreamPlace,
  ]
  const event = { type: 'event', data: 'for ada' } as const
  const entries = [writeEntry(ada, event, { number: 1, requestId: 1, seal })]
  is(readEntries('log', ada, { entries, seal })?.length, 2)
  is(readEntries('log', bob, { entries, seal }), undefined)
})

test('a malformed batch is refused, even if signed', () => {
  const open = new Seal(undefined)
  for (const text of [
    '',
    'x',
    '\n',
    '\n[]\n[]',
    '\n["a",1,"b",2]\n[]',
    '\n["a",1,"b",2,3]\n{}',
    '\n["a",1,"b",2,3]\n["port"]',
    '\n["a",1,"b",2,3]\n[}',
  ])
    is(readBatch(text, open), undefined, text)
})

test('a message for an unknown part is skipped', () => {
  const open = new Seal(undefined)
  const text = writeBatch(head, ['"later",{}', packMessage(over)], open)
  equal(readBatch(text, open)?.messages, [over])
})

test('a record keeps its values through text, beyond JSON types too', () => {
  const plain = { ...recordWith('a', 3), state: { list: [1, null, { deep: 'x' }], flag: true } }
  ok(recordText(plain).startsWith('{'))
  equal(recordOf(recordText(plain)), plain)
  const state = {
    at: new Date(5),
    set: new Set([1]),
    nothing: undefined,
    big: 5n,
    nan: Number.NaN,
    bytes: new Uint8Array([7]),
  }
  const rich = { ...recordWith('a', 3), state }
  const read = recordOf(recordText(rich))?.state as typeof state
  equal(read, state)
  ok(read.at instanceof Date)
  ok('nothing' in read)
})

test('a record that cannot be cloned is refused, a malformed one is none', () => {
  let refused: unknown
  try {
    recordText({ ...recordWith('a', 3), state: { fn: () => {} } })
  } catch (error) {
    refused = error
  }
  is((refused as { code?: unknown }).code, 'BAD_STATE')
  const open = new Seal(undefined)
  const read = (text: string): unknown => open.open({ kind: 'session' }, `\n${text}`, recordOf)
  for (const text of ['', 'v8 ', 'v8 AAAA', '{}', '[]', 'null', '{"id":"a"}']) not(read(text))
  equal([...open.refused], [['session', 7]])
  ok(read(recordText(recordWith('a', 3))))
})

test.run()

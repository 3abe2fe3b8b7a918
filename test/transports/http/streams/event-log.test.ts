import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { EventLog } from '../../../../transports/http/streams/event-log.js'
import type { LoggedEvent, StreamReader } from '../../../../transports/http/streams/event-log.js'
import type { EventLogLimits } from '../../../../transports/contract/shared-streams.js'
import { suite } from '../../../support/suite.js'

const test = suite('event log')

test('a stream replays events after an id, and none of other streams', () => {
  const { log } = newLog()
  const [one, other] = [log.open('s', 'call'), log.open('s', 'call')]
  const reader = connect(one)
  connect(other)
  one.send('a')
  other.send('x')
  one.send('b')
  one.finish('c')
  const [first] = reader.events
  assert.equal(texts(log, 's', String(first?.id)), ['b', 'c'])
})

test('ids are unique in the session and belong to it alone', () => {
  const { log } = newLog()
  const ids = new Set<string>()
  for (const sessionId of ['s', 'other'])
    for (const kind of ['call', 'listen', 'call'] as const) {
      const stream = log.open(sessionId, kind)
      const reader = connect(stream)
      ids.add(stream.mark(0))
      for (let count = 0; count < 3; count++) stream.send('x')
      for (const { id } of reader.events) {
        ids.add(id)
        assert.is(log.find(sessionId === 's' ? 'other' : 's', id).type, 'refused')
      }
    }
  assert.is(ids.size, 24)
})

test('event ids that were never given are refused', () => {
  const { log } = newLog()
  const stream = log.open('s', 'call')
  connect(stream)
  stream.send('a')
  const id = stream.mark(1)
  assert.is(log.find('s', id).type, 'found')
  const future = id.replace(/1$/, '2')
  const otherKind = id.replace('c', 'l')
  for (const forged of [
    '',
    '1',
    'x',
    future,
    otherKind,
    `${id} `,
    `${id}\n`,
    `${id}0`,
    `-${id}`,
    '../../../..',
    'c'.repeat(9_999),
  ])
    assert.is(log.find('s', forged).type, 'refused', forged.slice(0, 80))
  assert.is(log.find('S', id).type, 'refused')
})

test('ids of an earlier log are distinct from forged ones', () => {
  const [{ log }, { log: later }] = [newLog(), newLog()]
  const ids = (['listen', 'call'] as const).map((kind) => log.open('s', kind).mark(0))
  assert.equal(
    ids.map((id) => later.find('s', id)),
    ids.map((id, index) => ({
      type: 'foreign',
      kind: index === 0 ? 'listen' : 'call',
      log: log.name,
      name: id.slice(0, -2),
      after: 0,
    })),
  )
  assert.is(later.find('other', String(ids[0])).type, 'refused')
})

test('a stream keeps so many events and bytes, and its last event at any size', () => {
  const { log } = newLog({ maxEvents: 3, maxBytes: 10_000 })
  const stream = log.open('s', 'call')
  const { events } = connect(stream)
  for (const text of ['a', 'b', 'c', 'd', 'e']) stream.send(text)
  assert.is(log.find('s', String(events[0]?.id)).type, 'refused')
  assert.equal(texts(log, 's', String(events[1]?.id)), ['c', 'd', 'e'])
  stream.finish('z'.repeat(20_000))
  assert.is(texts(log, 's', String(events[4]?.id))[0]?.length, 20_000)
  assert.ok(log.bytes < 21_000, String(log.bytes))
})

test('at the total limit the oldest streams lose events, and no session is refused', () => {
  const { log } = newLog({ maxTotalBytes: 100_000, maxBytes: 50_000 })
  const given = []
  for (let count = 0; count < 1_000; count++) {
    const stream = log.open(`s${count}`, 'call')
    given.push(stream.mark(0))
    connect(stream)
    stream.finish('x'.repeat(1_000))
    assert.ok(log.bytes <= 100_000)
  }
  assert.is(log.find('s0', String(given[0])).type, 'refused')
  assert.equal(texts(log, 's999', String(given[999])).length, 1)
})

test('a session that keeps more than its share costs no other one its events', () => {
  const { log } = newLog({ maxTotalBytes: 100_000, maxBytes: 50_000 })
  const fill = (session: string): string => {
    const stream = log.open(session, 'call')
    const id = stream.mark(0)
    connect(stream)
    stream.finish('x'.repeat(5_000))
    return id
  }
  const before = fill('small')
  const all = Array.from({ length: 40 }, () => fill('greedy'))
  const after = fill('late')
  assert.ok(log.bytes <= 100_000)
  assert.equal(texts(log, 'small', before).length, 1)
  assert.equal(texts(log, 'late', after).length, 1)
  assert.is(log.find('greedy', String(all[0])).type, 'refused')
  assert.is(log.find('greedy', String(all.at(-1))).type, 'found')
})

test('streams per session are bounded, and ended ones go first', () => {
  const { log } = newLog({ maxStreams: 2 })
  const listening = log.open('s', 'listen')
  connect(listening)
  const ended = log.open('s', 'call')
  connect(ended)
  ended.finish('a')
  const [id, endedId] = [listening.mark(0), ended.mark(0)]
  log.open('s', 'call')
  assert.equal([log.find('s', id).type, log.find('s', endedId).type], ['found', 'refused'])
})

test('without a reader a stream keeps events if the client has an id to resume by', () => {
  const { log } = newLog()
  const unknown = log.open('s', 'call')
  unknown.leave(connect(unknown))
  assert.is(unknown.send('a'), false)
  const known = log.open('s', 'call')
  const id = known.mark(0)
  known.leave(connect(known))
  assert.is(known.send('a'), true)
  known.finish('b')
  assert.is(known.send('c'), false)
  assert.equal(texts(log, 's', id), ['a', 'b'])
})

test('an unread full stream refuses messages and accepts the answer', () => {
  const { log } = newLog({ maxEvents: 2 })
  const stream = log.open('s', 'call')
  const id = stream.mark(0)
  stream.leave(connect(stream))
  assert.equal([stream.send('a'), stream.send('b'), stream.send('c')], [true, true, false])
  assert.equal(texts(log, 's', id), ['a', 'b'])
  stream.finish('d')
  assert.equal(texts(log, 's', stream.mark(1)), ['b', 'd'])
})

test('an unread stream leaves session messages to a connected one', () => {
  const { log } = newLog()
  const [gone, live] = [log.open('s', 'listen'), log.open('s', 'listen')]
  gone.mark(0)
  gone.leave(connect(gone))
  connect(live)
  assert.equal([gone.send('a'), live.send('a')], [false, true])
})

test('a second connection ends the first, and its late leaving is ignored', () => {
  const { log } = newLog()
  const stream = log.open('s', 'listen')
  const [first, second] = [connect(stream), connect(stream)]
  assert.ok(first.concluded)
  stream.leave(first)
  stream.send('a')
  assert.equal([first.events.length, second.events.length], [0, 1])
})

test('an abandoned stream is forgotten in time, and its session told', () => {
  const { log, pass } = newLog({ maxAge: 1_000 })
  const stream = log.open('s', 'listen')
  const id = stream.mark(0)
  let detached = 0
  stream.attach(() => {
    detached += 1
  })
  const working = log.open('s', 'call')
  const workingId = working.mark(0)
  for (const left of [stream, working]) left.leave(connect(left))
  stream.send('a')
  pass(900)
  log.trim()
  assert.equal([log.find('s', id).type, detached], ['found', 0])
  pass(200)
  log.trim()
  assert.equal([log.find('s', id).type, detached], ['refused', 1])
  assert.is(log.find('s', workingId).type, 'found')
  working.finish('answer')
  log.trim()
  assert.equal(texts(log, 's', workingId), ['answer'])
  pass(1_100)
  log.trim()
  assert.equal([log.find('s', workingId).type, log.bytes], ['refused', 0])
})

test('a forgotten session leaves no streams', () => {
  const { log } = newLog()
  const stream = log.open('s', 'call')
  const id = stream.mark(0)
  const reader = connect(stream)
  stream.send('a')
  log.forget('s')
  assert.equal([log.find('s', id).type, log.bytes], ['refused', 0])
  stream.finish('b')
  assert.equal([reader.events.map(({ data }) => data), log.bytes], [['a', 'b'], 0])
})

function newLog(limits: Partial<EventLogLimits> = {}) {
  let time = 0
  const all = { maxEvents: 100, maxBytes: 100_000, maxTotalBytes: 1_000_000, maxAge: 1_000, maxStreams: 50 }
  const log = new EventLog({ ...all, ...limits }, { ...systemWorld, now: () => time })
  return {
    log,
    pass(ms: number) {
      time += ms
    },
  }
}

/** A reader that takes everything. */
function connect(stream: { connect(reader: StreamReader): void }) {
  const events: LoggedEvent[] = []
  const reader = {
    events,
    concluded: false,
    ready: () => true,
    write: (event: LoggedEvent) => void events.push(event),
    conclude(event?: LoggedEvent) {
      if (event !== undefined) events.push(event)
      reader.concluded = true
    },
  }
  stream.connect(reader)
  return reader
}

/** What a reader with this id is given. */
function texts(log: EventLog, sessionId: string, id: string): string[] {
  const position = log.find(sessionId, id)
  if (position.type !== 'found') throw new Error(`${id} is not found: ${JSON.stringify(position)}`)
  return position.stream.after(position.after).map(({ data }) => data)
}

test.run()

import { setImmediate as turn } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { buildResult } from 'caduceus/protocol'
import { suite } from '../../../support/suite.js'
import { record, startLogs, takeUp, texts } from './_logs.js'

const test = suite('stream archive')

type Logs = ReturnType<typeof startLogs>

test('a stream resumes on another process: missed events, new ones, the end', async () => {
  const { logs, one, two, stream, reader } = begin()
  stream.send('a')
  stream.send('b')
  stream.leave(reader)
  stream.send('c')
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.equal(texts(again), ['b', 'c'])
  assert.ok(stream.isRead)
  assert.ok(stream.send('d'))
  stream.finish('e')
  await settle(logs)
  assert.equal([texts(again), again.concluded], [['b', 'c', 'd', 'e'], true])
  assert.is(new Set([...reader.events, ...again.events].map(({ id }) => id)).size, 5)
  assert.is(one.log.find('s', String(again.events.at(-1)?.id)).type, 'found')
})

test('a stream that ends while it is read elsewhere is not read any more', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  stream.leave(reader)
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.ok(stream.isRead)
  stream.finish('b')
  await settle(logs)
  assert.equal([texts(again), again.concluded], [['b'], true])
  // who is read is never forgotten
  assert.equal([stream.isRead, stream.inUse], [false, false])
})

test('an ended stream is replayed to its end, any number of times', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  stream.leave(reader)
  stream.finish('b')
  for (let round = 0; round < 3; round++) {
    const again = takeUp(two, 's', String(reader.events[0]?.id))
    await settle(logs)
    assert.equal([texts(again), again.concluded], [['b'], true])
  }
})

test('an event that the client has before the archive is waited for', async () => {
  const { logs, two, stream, reader } = begin()
  await settle(logs)
  stream.send('a')
  stream.leave(reader)
  // the wish to go on is faster than what the client has seen already
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  stream.send('b')
  while (logs.traffic.step((count) => count - 1)) await turn()
  assert.equal([again.found?.type, texts(again)], ['followed', ['b']])
})

test('the number of a mark can be resumed from', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const id = stream.mark()
  stream.leave(reader)
  stream.send('b')
  const again = takeUp(two, 's', id)
  await settle(logs)
  assert.equal(texts(again), ['b'])
  assert.match(again.stream.mark(), /\.2-[\w-]+$/)
})

test('marks of other connections are valid everywhere and unique', async () => {
  const { logs, one, two, stream, reader } = begin()
  stream.send('a')
  stream.leave(reader)
  const marks = []
  for (const process of [two, two, logs.start()]) {
    const again = takeUp(process, 's', marks.at(-1) ?? String(reader.events[0]?.id))
    await settle(logs)
    marks.push(again.stream.mark())
  }
  assert.is(new Set(marks).size, 3)
  const position = one.log.find('s', String(marks[2]))
  assert.ok(position.type === 'found' && position.after === 1)
})

test('unknown and foreign event ids find nothing', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const id = String(reader.events[0]?.id)
  assert.is(two.log.find('other', id).type, 'refused')
  for (const forged of [`${id}9`, id.replace('c', 'l'), id.replace(/^(.{9})./, '$1z')]) {
    const again = takeUp(two, 's', forged)
    await settle(logs)
    assert.is(again.found?.type, 'refused', forged)
  }
  // one that speaks for another session than the stream's
  two.streams.send({
    type: 'follow',
    follow: 'x',
    log: 'none',
    sessionId: 'other',
    stream: id.slice(0, -2),
    after: 0,
  })
  await settle(logs)
  assert.equal(two.news.at(-1), { type: 'unknown', follow: 'x' })
})

test('an event id of an unknown log finds nothing', async () => {
  const [logs, others] = [startLogs(1), startLogs(1)]
  const again = takeUp(
    logs.processes[0] as Process,
    's',
    (others.processes[0] as Process).log.open('s', 'call').mark(0),
  )
  await settle(logs)
  assert.is(again.found?.type, 'unknown')
})

test('a resume after the last event finds nothing', async () => {
  const { logs, two, stream, reader } = begin()
  stream.finish('a')
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.equal(again.found, { type: 'refused', why: 'nothing comes after this event' })
})

test('one connection reads a stream: the next one ends it', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const id = String(reader.events[0]?.id)
  const first = takeUp(two, 's', id)
  await settle(logs)
  assert.ok(reader.concluded)
  const second = takeUp(logs.start(), 's', id)
  await settle(logs)
  assert.equal([first.concluded, second.concluded], [true, false])
  stream.send('b')
  await settle(logs)
  assert.equal([texts(first), texts(second)], [[], ['b']])
})

test('a client that returns to the process of its stream ends the other connection', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const elsewhere = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  const home = record()
  stream.connect(home)
  stream.send('b')
  await settle(logs)
  assert.equal([elsewhere.concluded, texts(elsewhere), texts(home)], [true, [], ['b']])
  stream.leave(home)
  assert.not.ok(stream.isRead)
})

test('a stream waits after its connection elsewhere ended', async () => {
  const { logs, two, stream, reader } = begin('listen')
  stream.attach(() => {})
  stream.send('a')
  const elsewhere = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.ok(stream.isRead)
  elsewhere.stream.leave(elsewhere)
  await settle(logs)
  assert.not.ok(stream.isRead)
  logs.pass(2_000)
  stream.send('b')
  assert.is(texts(elsewhere).length, 0)
})

test('a call of a dead process gets one and the same retryable error', async () => {
  const { logs, one, two, stream, reader } = begin('call', 7)
  stream.send('a')
  stream.leave(reader)
  stream.send('b')
  one.die()
  await settle(logs)
  const given = []
  for (let round = 0; round < 2; round++) {
    const again = takeUp(two, 's', String(reader.events[0]?.id))
    await settle(logs)
    assert.ok(again.concluded)
    given.push(again.events)
  }
  assert.equal(given[0], given[1])
  const [b, answer] = given[0] ?? []
  const { id, error } = JSON.parse(String(answer?.data))
  assert.equal([b?.data, id, error.data], ['b', 7, { retryable: true }])
  const done = takeUp(two, 's', String(answer?.id))
  await settle(logs)
  assert.is(done.found?.type, 'refused')
})

test('a client that has seen more than the dead process stored gets the error, too', async () => {
  const { logs, one, two, stream, reader } = begin('call', 'seven')
  await settle(logs)
  for (const text of ['a', 'b', 'c']) stream.send(text)
  one.die({ silently: true })
  const again = takeUp(two, 's', String(reader.events[2]?.id))
  await settle(logs)
  assert.is(again.events.length, 1)
  assert.is(JSON.parse(String(again.events[0]?.data)).id, 'seven')
})

test('a dying process ends the followers of its streams', async () => {
  const { logs, one, two, stream, reader } = begin('call', 7)
  const listening = one.log.open('s', 'listen')
  const [news, id] = [record(), listening.mark(0)]
  listening.connect(news)
  listening.attach(() => {})
  stream.send('a')
  const call = takeUp(two, 's', String(reader.events[0]?.id))
  const listen = takeUp(two, 's', id)
  await settle(logs)
  listening.send('x')
  const late = takeUp(logs.start(), 's', id)
  one.die()
  await settle(logs)
  assert.ok(call.concluded)
  assert.match(String(texts(call)[0]), /"id":7,"error"/)
  // the one that came last has the stream
  assert.equal([texts(late), late.isLost], [['x'], true])
  assert.ok(listen.concluded || listen.isLost)
})

test('a GET stream of a dead process gives what is kept, and then it is lost', async () => {
  const { logs, one, two, stream, reader } = begin('listen')
  stream.attach(() => {})
  stream.send('a')
  stream.leave(reader)
  stream.send('b')
  one.die()
  await settle(logs)
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.equal([texts(again), again.isLost], [['b'], true])
})

test('a GET stream its session has left is lost for followers and newcomers', async () => {
  const { logs, two, stream, reader } = begin('listen')
  stream.attach(() => {})
  stream.send('a')
  const id = String(reader.events[0]?.id)
  const followed = takeUp(two, 's', id)
  await settle(logs)
  stream.send('b')
  stream.detached()
  await settle(logs)
  const later = takeUp(two, 's', id)
  await settle(logs)
  for (const { isLost, ...one } of [followed, later]) assert.equal([texts(one), isLost], [['b'], true])
})

test('an end that arrives with missed events is noticed', async () => {
  for (const how of ['lost', 'taken back'] as const) {
    const { logs, two, stream, reader } = begin('listen')
    stream.attach(() => {})
    stream.send('a')
    const followed = takeUp(two, 's', String(reader.events[0]?.id))
    const hasFollowed = (): boolean => two.news.some(({ type }) => type === 'followed')
    while (!hasFollowed()) logs.traffic.step((count) => count - 1)
    if (how === 'lost') stream.detached()
    else stream.connect(record())
    logs.traffic.run()
    await settle(logs)
    assert.equal([followed.isLost, followed.concluded], how === 'lost' ? [true, false] : [false, true])
  }
})

test('of two connections for a stream of a dead process the later wins', async () => {
  const { logs, one, two, stream, reader } = begin('listen')
  stream.attach(() => {})
  stream.send('a')
  stream.leave(reader)
  stream.send('b')
  one.die()
  logs.traffic.run()
  const id = String(reader.events[0]?.id)
  const [first, second] = [takeUp(two, 's', id), takeUp(two, 's', id)]
  logs.traffic.run()
  await settle(logs)
  assert.equal([first.concluded, first.isLost], [true, false])
  assert.equal([second.concluded, second.isLost, texts(second)], [false, true, ['b']])
})

test('a follower whose next events are not kept ends instead of skipping them', async () => {
  const { logs, one, two, stream, reader } = begin('call', 1, { maxTotalBytes: 5_000 })
  stream.send('a')
  const followed = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  stream.send('b')
  stream.send('c')
  const other = one.log.open('t', 'call', 2)
  other.connect(record())
  other.send('x'.repeat(4_500))
  // all of it reaches the archive before the follower has taken the first
  logs.traffic.run()
  stream.send('d')
  await settle(logs)
  assert.equal([texts(followed), followed.concluded], [['b'], true])
})

test('a slow follower leaves and resumes the rest', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const slow = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  slow.isSlow = true
  stream.send('b')
  stream.send('c')
  await settle(logs)
  assert.equal([slow.concluded, stream.isRead], [true, false])
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.equal(texts(again), ['b', 'c'])
})

test('bytes in flight to a follower are bounded, then messages are refused', async () => {
  const { logs, two, stream, reader } = begin('call', 1, { maxEvents: 10 })
  stream.send('a')
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  let taken = 0
  while (taken < 1_000 && stream.send(`${taken}`)) taken += 1
  assert.is(taken, 10)
  await settle(logs)
  assert.is(again.events.length, 10)
  assert.ok(stream.send('more'))
  await settle(logs)
  assert.is(texts(again).at(-1), 'more')
})

test('events that come while others are on their way go together', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  for (let count = 0; count < 50; count++) stream.send(`${count}`)
  await settle(logs)
  const batches = two.news.flatMap((news) => (news.type === 'events' ? [news.events.length] : []))
  assert.equal(batches, [1, 49])
})

test('an event lost in transit is noticed', async () => {
  const { logs, one, two, stream, reader } = begin()
  stream.send('a')
  await settle(logs)
  const { send } = one.streams
  Object.assign(one.streams, { send: () => {} })
  stream.send('b')
  Object.assign(one.streams, { send })
  stream.send('c')
  const [a, b] = reader.events
  const [before, after] = [takeUp(two, 's', String(a?.id)), takeUp(two, 's', String(b?.id))]
  await settle(logs)
  assert.equal([before.found?.type, texts(after)], ['refused', ['c']])
})

test('limits hold for events, bytes, streams and the time of dead processes', async () => {
  const { logs, one, two, stream, reader } = begin('call', 1, {
    maxEvents: 2,
    maxStreams: 3,
    maxTotalBytes: 5_000,
  })
  for (const text of ['a', 'b', 'c']) stream.send(text)
  const early = takeUp(two, 's', String(stream.mark(0)))
  await settle(logs)
  assert.equal(early.found, { type: 'refused', why: 'events after this one are not kept any more' })
  stream.leave(reader)
  const other = one.log.open('t', 'call', 2)
  other.connect(record())
  other.send('x'.repeat(4_500))
  await settle(logs)
  assert.ok(logs.archive.bytes <= 5_000, String(logs.archive.bytes))
  for (let count = 0; count < 5; count++) two.log.open('s', 'call', count)
  await settle(logs)
  const gone = takeUp(two, 's', String(reader.events[2]?.id))
  await settle(logs)
  assert.is(gone.found?.type, 'unknown')
  one.die()
  await settle(logs)
  logs.pass(999)
  logs.archive.trim()
  assert.ok(logs.archive.bytes > 0)
  logs.pass(2)
  logs.archive.trim()
  assert.is(logs.archive.bytes, 0)
})

test('an ended session leaves nothing on any process', async () => {
  const { logs, two, stream } = begin()
  stream.send('a')
  await settle(logs)
  assert.ok(logs.archive.bytes > 0)
  two.log.forget('s')
  await settle(logs)
  assert.is(logs.archive.bytes, 0)
  stream.send('b')
  await settle(logs)
  assert.is(logs.archive.bytes, 0)
})

test('a dropped stream goes on for its present reader, and for no other', async () => {
  const { logs, one, two, stream, reader } = begin()
  stream.send('a')
  const id = String(reader.events[0]?.id)
  const again = takeUp(two, 's', id)
  await settle(logs)
  one.log.drop(stream)
  stream.send('b')
  stream.finish('c')
  await settle(logs)
  assert.equal([texts(again), again.concluded, logs.archive.bytes], [['b', 'c'], true, 0])
  const late = takeUp(two, 's', id)
  await settle(logs)
  assert.is(late.found?.type, 'refused')
})

test('a stopping process waits for requests that are read elsewhere', async () => {
  const { logs, one, two, stream, reader } = begin()
  stream.send('a')
  takeUp(two, 's', String(reader.events[0]?.id))
  await settle(logs)
  assert.ok(stream.isRead)
  assert.ok(stream.isAwaited)
  const listening = one.log.open('s', 'listen')
  const id = listening.mark(0)
  listening.attach(() => {})
  takeUp(two, 's', id)
  await settle(logs)
  assert.equal([listening.isRead, listening.isAwaited], [true, false])
  stream.finish('b')
  assert.not.ok(stream.isAwaited)
})

test('a leaving log and a dying process release what they read', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  const three = logs.start()
  for (const [who, leave] of [
    [two, () => two.shared.close()],
    [three, () => three.die()],
  ] as const) {
    takeUp(who, 's', String(reader.events[0]?.id))
    await settle(logs)
    assert.ok(stream.isRead)
    leave()
    await settle(logs)
    assert.not.ok(stream.isRead)
  }
})

test('a follower gone before its loan leaves none', async () => {
  const { logs, two, stream, reader } = begin()
  stream.send('a')
  await settle(logs)
  const again = takeUp(two, 's', String(reader.events[0]?.id))
  again.stream.stop()
  await settle(logs)
  assert.equal([again.found?.type, stream.isRead], ['stopped', false])
})

test.slow('a client that returns anywhere, any number of times, gets each event once', async () => {
  for (let seed = 1; seed <= 300; seed++) await wander(seed)
})

/** A client that loses its connection at random, and comes back to any of three processes; one may die. */
async function wander(seed: number): Promise<void> {
  const next = randoms(seed)
  const pick = (count: number): number => Math.floor(next() * count)
  const logs = startLogs(3)
  const [owner] = logs.processes as [Process, Process, Process]
  const isListen = pick(2) === 0
  const dies = pick(3) === 0
  const stream = owner.log.open('s', isListen ? 'listen' : 'call', 7)
  if (isListen) stream.attach(() => {})
  let id = stream.mark(0)
  const got: string[] = []
  type Connection = {
    read: number
    reader: ReturnType<typeof record> & { isLost?: boolean; found?: { type: string } | undefined }
    leave(): void
  }
  const home = record()
  stream.connect(home)
  let connection: Connection | null = { read: 0, reader: home, leave: () => stream.leave(home) }
  let [sent, isOver, isDead] = [0, false, false]
  const read = (): void => {
    if (connection === null) return
    for (const event of connection.reader.events.slice(connection.read)) {
      got.push(event.data)
      id = event.id
      connection.read += 1
    }
  }
  const back = (): void => {
    const process = logs.processes[isDead ? 1 + pick(2) : pick(3)] as Process
    if (process !== owner) {
      const follower = takeUp(process, 's', id)
      connection = { read: 0, reader: follower, leave: () => follower.stream.stop() }
      return
    }
    const position = owner.log.find('s', id)
    assert.ok(position.type === 'found', `seed ${seed}: ${JSON.stringify(position)}`)
    const reader = record()
    reader.events.push(...position.stream.after(position.after))
    if (stream.ended) reader.concluded = true
    else stream.connect(reader)
    connection = { read: 0, reader, leave: () => stream.leave(reader) }
  }
  for (let round = 0; round < 400 && !isOver; round++) {
    const what = pick(10)
    if (what < 3 && sent < 40 && !isDead) {
      if (stream.send(`${sent}`)) sent += 1
    } else if (what === 3) {
      // it may have read everything or nothing of what reached it
      if (pick(2) === 0) read()
      connection?.leave()
      connection = null
    } else if (what === 4 && connection === null) back()
    else if (what === 5 && sent > 20 && dies && !isDead) {
      isDead = true
      owner.die()
      if (connection?.reader === home || connection?.leave === undefined) connection = null
    } else {
      logs.traffic.step(pick)
      await turn()
    }
  }
  // quiet: nothing breaks any more
  if (!isDead && !isListen && !stream.ended) stream.finish(JSON.stringify(buildResult(7, {})))
  for (let round = 0; round < 20 && !isOver; round++) {
    await settle(logs)
    read()
    const { reader } = connection ?? {}
    const isHome = reader !== undefined && !('found' in reader)
    isOver =
      reader?.concluded === true || reader?.isLost === true || (isListen && !isDead && reader !== undefined)
    if (isOver && !isEnd(got, sent, isListen)) isOver = false
    if (!isOver && (reader === undefined || reader.concluded || (isDead && isHome))) {
      connection?.leave()
      back()
    }
  }
  const numbers = got.filter((text) => !text.startsWith('{'))
  assert.equal(
    numbers,
    Array.from({ length: sent }, (_, index) => `${index}`),
    `seed ${seed}: ${isListen ? 'listen' : 'call'}`,
  )
  assert.is(got.length - numbers.length, isListen ? 0 : 1, `seed ${seed}: ends`)
}

function isEnd(got: readonly string[], sent: number, isListen: boolean): boolean {
  return isListen ? got.length === sent : got.at(-1)?.startsWith('{') === true
}

/** The same numbers for the same seed. */
function randoms(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

type Process = Logs['processes'][number]

/** A stream with a connection on the first of two processes. */
function begin(kind: 'call' | 'listen' = 'call', requestId: string | number = 1, limits = {}) {
  const logs = startLogs(2, limits)
  const [one, two] = logs.processes as [Process, Process]
  const stream = one.log.open('s', kind, requestId)
  const reader = record()
  stream.connect(reader)
  return { logs, one, two, stream, reader }
}

/** Lets everything arrive, and what comes of it. */
async function settle({ traffic }: Logs): Promise<void> {
  await turn()
  while (traffic.step()) await turn()
}

test.run()

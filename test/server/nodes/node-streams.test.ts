// second tier: time
import { equal, is, match, ok } from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { type Recorder, record, takeUp, texts } from '../../transports/http/streams/_logs.js'
import { startStreamNodes, type StreamNode, until } from './_streams.js'

const test = suite('event streams of nodes', { timeout: 20_000 })

test('a stream resumes on another node to its end while its node lives', async (t) => {
  const { nodes } = await startStreamNodes(t, 3)
  const [one, two, three] = nodes as [StreamNode, StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  stream.send('b')
  stream.leave(reader)
  stream.send('c')
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.events.length === 2)
  stream.send('d')
  await until(() => again.events.length === 3)
  const last = takeUp(three, 's', idOf(again, 2))
  await until(() => last.found !== undefined && again.concluded)
  stream.send('e')
  stream.finish('f')
  await until(() => last.concluded)
  equal(
    [texts(again), texts(last)],
    [
      ['b', 'c', 'd'],
      ['e', 'f'],
    ],
  )
})

test('the stream of a dead node resumes elsewhere, with an error for its open request', async (t) => {
  const { nodes, die } = await startStreamNodes(t, 3)
  const [one, two, three] = nodes as [StreamNode, StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  stream.leave(reader)
  stream.send('b')
  await one.cluster.streams.drained()
  await die(one)
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.concluded)
  const [missed, error] = texts(again)
  is(missed, 'b')
  equal(JSON.parse(String(error)), {
    jsonrpc: '2.0',
    id: 7,
    error: {
      code: -32603,
      message: 'The process that worked on it has ended: try once more',
      data: { retryable: true },
    },
  })
  // the same again on a third one, also after the second has ended
  await die(two)
  const last = takeUp(three, 's', idOf(again, 0))
  await until(() => last.concluded)
  equal(last.events, again.events.slice(1))
})

test('a client that reads on another node survives the death of the first', async (t) => {
  const { nodes, die } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const call = begin(one)
  const listen = begin(one, 'listen')
  for (const { stream, reader } of [call, listen]) {
    stream.send('a')
    stream.leave(reader)
  }
  const [reading, listening] = [call, listen].map(({ reader }) => takeUp(two, 's', idOf(reader, 0)))
  await until(() => reading?.found !== undefined && listening?.found !== undefined)
  for (const { stream } of [call, listen]) stream.send('b')
  await until(() => reading?.events.length === 1 && listening?.events.length === 1)
  await die(one)
  await until(() => reading?.concluded === true && listening?.isLost === true)
  equal(texts(listening as Recorder), ['b'])
  equal([texts(reading as Recorder).length, reading?.concluded], [2, true])
})

test('a node declared dead adds nothing to a stream resumed elsewhere', async (t) => {
  const { engine, nodes, die } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  await one.cluster.streams.drained()
  await die(one)
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.concluded)
  ok(stream.send('b'))
  engine.heal('node-1')
  await until(() => reader.concluded)
  is(stream.send('c'), false)
  equal(texts(again).length, 1)
})

test('a node that left in order keeps nobody waiting', async (t) => {
  const { nodes } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  stream.leave(reader)
  stream.finish('b')
  await one.leave()
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.concluded)
  equal(texts(again), ['b'])
})

test('without the engine a client is told to retry, and connected readers get events', async (t) => {
  const { engine, nodes } = await startStreamNodes(t, 2, { limits: { maxTotalBytes: 40_000 } })
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  await one.cluster.streams.drained()
  engine.stop()
  await until(() => one.cluster.problem !== undefined && two.cluster.problem !== undefined)
  for (let count = 0; count < 50; count++) ok(stream.send(`${count} ${'x'.repeat(2_000)}`))
  is(reader.events.length, 51)
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.found !== undefined)
  is(again.found?.type, 'unreachable')
  engine.start()
  await until(() => one.cluster.problem === undefined && two.cluster.problem === undefined)
  await one.cluster.streams.drained()
  const last = takeUp(two, 's', idOf(reader, 50))
  await until(() => last.found !== undefined)
  is(last.found?.type, 'followed')
})

test('resuming is refused when an event after the id is not kept', async (t) => {
  const { nodes, die } = await startStreamNodes(t, 2, { limits: { maxEvents: 3 } })
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  for (const data of ['a', 'b', 'c', 'd', 'e']) {
    stream.send(data)
    await one.cluster.streams.drained()
  }
  await die(one)
  const [early, late] = [0, 2].map((index) => takeUp(two, 's', idOf(reader, index)))
  await until(() => early?.found !== undefined && late?.found !== undefined)
  equal([early?.found?.type, late?.found?.type], ['refused', 'followed'])
  equal(texts(late as Recorder).slice(0, 2), ['d', 'e'])
})

test('a wiped engine gets stream events again, so none is missing after a death', async (t) => {
  const { engine, nodes, die } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  stream.mark()
  stream.send('b')
  await one.cluster.streams.drained()
  engine.wipe()
  stream.send('c')
  await until(() => one.cluster.problem === undefined && engine.state.run === 'run 2')
  await until(async () => engine.state.placeOfLog(one.log.name) !== undefined)
  await one.cluster.streams.drained()
  stream.send('d')
  await one.cluster.streams.drained()
  await until(() => two.cluster.view.nodes.length === 2 && two.cluster.problem === undefined)
  await die(one)
  const again = takeUp(two, 's', idOf(reader, 0))
  await until(() => again.concluded)
  equal(texts(again).slice(0, 3), ['b', 'c', 'd'])
})

test('an event id of another session cannot be resumed', async (t) => {
  const { nodes } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  const position = two.log.find('other', idOf(reader, 0))
  equal(
    [position.type, position.type === 'refused' && position.why],
    ['refused', 'not an id of this session'],
  )
  match(idOf(reader, 0), /^c/)
})

test('a stream never seen, or no longer kept, is unknown', async (t) => {
  const { engine, nodes, die } = await startStreamNodes(t, 2)
  const [one, two] = nodes as [StreamNode, StreamNode]
  const { stream, reader } = begin(one)
  stream.send('a')
  await one.cluster.streams.drained()
  one.log.drop(stream)
  await until(() => engine.state.snapshot().streams.get('s')?.size === 0)
  const live = takeUp(two, 's', idOf(reader, 0))
  await until(() => live.found !== undefined)
  equal(live.found, { type: 'refused', why: 'the stream is not kept any more' })
  await die(one)
  const dead = takeUp(two, 's', idOf(reader, 0))
  await until(() => dead.found !== undefined)
  equal(dead.found, { type: 'unknown' })
})

function begin({ log }: StreamNode, kind: 'call' | 'listen' = 'call') {
  const stream = log.open('s', kind, kind === 'call' ? 7 : undefined)
  const reader = record()
  stream.connect(reader)
  if (kind === 'listen') stream.attach(() => {})
  return { stream, reader }
}

function idOf({ events }: Recorder, index: number): string {
  return String(events[index]?.id)
}

test.run()

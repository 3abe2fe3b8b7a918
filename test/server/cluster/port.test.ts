import * as assert from 'uvu/assert'
import type { JsonRpcRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import type { Sink, Peer } from 'caduceus/transports'
import { worldOn } from '../../support/world.js'
import { type Cluster, OwnedElsewhere } from '../../../server/cluster/cluster.js'
import type { PortMessage } from '../../../server/cluster/message.js'
import { clusterPort, type LocalPort } from '../../../server/cluster/port.js'
import { suite } from '../../support/suite.js'

const test = suite('port of a node')

const peer: Peer = { transport: 'test', headers: {}, remoteAddress: undefined }
const request: JsonRpcRequest = { jsonrpc: '2.0', id: 1, method: 'ping' }
const answer = { jsonrpc: '2.0', id: 1, result: {} } as const
const nobody: Sink = { send: () => true }

/** A port, all sessions of which run on node b unless `own` says otherwise, and what it sends there. */
function portOf(own: Partial<LocalPort> = {}) {
  const sent: PortMessage[] = []
  const way = { isOpen: true }
  const elsewhere = (): Promise<never> => Promise.reject(new OwnedElsewhere('b'))
  const local: LocalPort = {
    open: elsewhere,
    deliver: elsewhere,
    attach: elsewhere,
    close: elsewhere,
    admit: elsewhere,
    retire: async () => {},
    hear: () => {},
    lost: () => {},
    missed: () => {},
    ...own,
  }
  const cluster: Partial<Cluster> = {
    node: 'a',
    problem: undefined,
    claim: async () => 'b',
    release: () => {},
    send: (_node, message) => way.isOpen && sent.push(message) > 0,
    publish: () => {},
    retire: () => {},
    listen: () => () => {},
  }
  const clock = createFakeClock()
  return { port: clusterPort(local, cluster as Cluster, worldOn(clock)), sent, way, clock }
}

test('a new port ignores answers to its predecessor', async () => {
  const [first, second] = [portOf(), portOf()]
  const lost = first.port.deliver('s', request, nobody, peer)
  const going = second.port.deliver('s', request, nobody, peer)
  await turns()
  const [old, own] = [first.sent[0], second.sent[0]] as [PortMessage, PortMessage]
  second.port.receive('b', {
    type: 'answer',
    id: old.id,
    answer: { texts: ['{"id":"of another"}'] },
  })
  second.port.receive('b', {
    type: 'answer',
    id: own.id,
    answer: { texts: [JSON.stringify(answer)] },
  })
  assert.equal({ ...(await going) }, answer)
  first.port.abandon()
  assert.ok('error' in ((await lost) ?? {}))
})

test('an ending port notifies the nodes whose sessions it reads', async () => {
  const { port, sent } = portOf()
  let ended = 0
  const attached = port.attach('s', { ...nobody, end: () => (ended += 1) }, peer)
  await turns()
  const [{ id }] = sent as [PortMessage]
  port.receive('b', { type: 'answer', id, answer: { texts: [] } })
  await attached
  port.abandon()
  assert.equal(sent.slice(1), [{ type: 'detach', id }])
  assert.is(ended, 1)
})

test('an ending port notifies the nodes that read its sessions', async () => {
  let detached = 0
  const { port, sent } = portOf({ attach: async () => () => (detached += 1) })
  port.receive('b', {
    type: 'ask',
    id: 'x',
    ask: { do: 'attach', sessionId: 's', isDeaf: false },
    peer,
  })
  await turns()
  port.abandon()
  assert.equal(
    sent.map(({ type }) => type),
    ['answer', 'over'],
  )
  assert.is(detached, 1)
})

test('a reader that only holds a session on another node receives no messages', async () => {
  const heard: boolean[] = []
  const { port, sent } = portOf({
    async attach(_id, sink) {
      heard.push(sink.send(request))
      return () => {}
    },
  })
  for (const [id, isDeaf] of [
    ['x', true],
    ['y', false],
  ] as const)
    port.receive('b', { type: 'ask', id, ask: { do: 'attach', sessionId: 's', isDeaf }, peer })
  await turns()
  assert.equal(heard, [false, true])
  const asking = portOf()
  asking.port.attach('s', { isDeaf: true, send: () => false }, peer).catch(() => {})
  await turns()
  assert.equal(asking.sent[0]?.type === 'ask' && asking.sent[0].ask, {
    do: 'attach',
    sessionId: 's',
    isDeaf: true,
  })
  asking.port.abandon()
  assert.is(sent.length, 3)
})

test('a session that ends before it confirms a reader keeps nobody waiting', async () => {
  const { port, sent } = portOf()
  let ended = 0
  const attached = port.attach('s', { ...nobody, end: () => (ended += 1) }, peer)
  await turns()
  const [{ id }] = sent as [PortMessage]
  port.receive('b', { type: 'over', id })
  port.receive('b', { type: 'answer', id, answer: { texts: [] } })
  const detach = await attached
  detach()
  assert.is(ended, 1)
  assert.is(sent.length, 1)
})

test('an answer without room is sent later, in order', async () => {
  const { port, sent, way, clock } = portOf({ deliver: async () => answer })
  way.isOpen = false
  const ask = {
    do: 'deliver',
    sessionId: 's',
    text: JSON.stringify(request),
    mayRelease: false,
  } as const
  port.receive('b', { type: 'ask', id: 'x', ask, peer })
  port.receive('b', { type: 'ask', id: 'y', ask, peer })
  await turns()
  await clock.advance(1_000)
  assert.is(sent.length, 0)
  way.isOpen = true
  await clock.advance(1_000)
  assert.equal(
    sent.map(({ type, id }) => [type, id]),
    [
      ['answer', 'x'],
      ['answer', 'y'],
    ],
  )
})

test('messages without room are dropped with their node', async () => {
  const { port, sent, way, clock } = portOf({ deliver: async () => answer })
  way.isOpen = false
  const ask = {
    do: 'deliver',
    sessionId: 's',
    text: JSON.stringify(request),
    mayRelease: false,
  } as const
  port.receive('b', { type: 'ask', id: 'x', ask, peer })
  await turns()
  port.gone('b')
  way.isOpen = true
  await clock.advance(1_000)
  assert.equal(sent, [])
  await port.settled()
})

function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()

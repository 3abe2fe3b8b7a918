import { buildResult, type Message } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import {
  bindConnections,
  type Connection,
  type Connections,
  type ConnectionSource,
  type LinkScope,
  TransportError,
} from 'caduceus/transports'
import { serverPort, type Services } from '../../support/ports.js'
import * as assert from 'uvu/assert'
import { worldOn } from '../../support/world.js'
import { suite } from '../../support/suite.js'
import { exchanging, request } from '../_modern.js'

const test = suite('connections')

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} })
const call = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: {} })

/** Connections that a test serves by hand; `end` ends their scope. */
function bind(source?: ConnectionSource) {
  const clock = createFakeClock()
  const undos: (() => unknown)[] = []
  const scope: LinkScope = {
    signal: new AbortController().signal,
    clock,
    world: worldOn(clock),
    own(resource) {
      undos.push(resource as () => unknown)
      return resource
    },
    bind: (fn) => fn,
  }
  const connections = bindConnections(scope, source)
  return { connections, clock, end: () => undos.forEach((undo) => void undo()) }
}

/** A connection that notes what is done with it. */
function connect(connections: Connections, send: (text: string) => void = () => {}) {
  const did: string[] = []
  const sent: Message[] = []
  const connection: Connection = {
    peer: { transport: 'test', headers: {}, remoteAddress: undefined },
    isStalled: false,
    send(text) {
      send(text)
      sent.push(JSON.parse(text))
    },
    pause: () => did.push('pause'),
    resume: () => did.push('resume'),
    close: (why) => did.push(why),
  }
  return { accepted: connections.accept(connection), did, sent }
}

/** A connection that has room, or has not; what is sent to it is noted. */
function connectWith(connections: Connections, room: NonNullable<Connection['room']>) {
  const texts: string[] = []
  const connection: Connection = {
    peer: { transport: 'test', headers: {}, remoteAddress: undefined },
    isStalled: false,
    room,
    send: (text) => void texts.push(text),
    pause: () => {},
    resume: () => {},
    close: () => {},
  }
  return { accepted: connections.accept(connection), texts }
}

test('what waits behind initialize on a pipe is dropped with the end of the pipe', async () => {
  const { connections } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  const texts: string[] = []
  const pipe = connections.acceptPipe({
    peer: { transport: 'test', headers: {}, remoteAddress: undefined },
    isStalled: false,
    send: (text) => void texts.push(text),
    pause: () => {},
    resume: () => {},
    close: () => {},
  })
  pipe.message(initialize)
  pipe.message(ping)
  pipe.end('going_away')
  await turn()
  assert.equal([texts.length, texts[0]?.includes('retryable')], [1, true])
})

/** A server that opens sessions at once, and answers when it is told to. */
function makeServer() {
  const waiting: (() => void)[] = []
  const closed: string[] = []
  const delivered: Message[] = []
  const opened: { resolve: () => void }[] = []
  const server: Services = {
    open: async ({ id }) => {
      await new Promise<void>((resolve) => opened.push({ resolve }))
      return { sessionId: 's', response: buildResult(id, { protocolVersion: '2025-11-25' }) }
    },
    deliver(_session, message) {
      delivered.push(message)
      if (!('id' in message)) return Promise.resolve(undefined)
      return new Promise((resolve) => waiting.push(() => resolve(buildResult(message.id ?? 0, {}))))
    },
    attach: async () => () => {},
    async close(sessionId) {
      closed.push(sessionId)
    },
  }
  const reports: unknown[] = []
  const serving: Parameters<Connections['serve']>[0] = {
    server: serverPort(server),
    run: (fn) => fn(),
    report: (error) => reports.push(error),
  }
  return { server, serving, waiting, closed, delivered, opened, reports }
}

async function open(
  accepted: ReturnType<typeof connect>['accepted'],
  { opened }: ReturnType<typeof makeServer>,
) {
  accepted.message(initialize)
  opened.at(-1)?.resolve()
  await turn()
}

test('without a listener, messages wait, pause at 1,000 and are refused at 10,000', async () => {
  const { connections } = bind()
  const { accepted, did, sent } = connect(connections)
  for (let i = 0; i < 999; i++) assert.ok(accepted.message(ping))
  assert.equal(did, [])
  assert.ok(accepted.message(ping))
  assert.equal(did, ['pause'])
  for (let i = 1_000; i < 10_000; i++) accepted.message(ping)
  assert.not.ok(accepted.message(ping))
  connections.serve(makeServer().serving)
  // a hundred in each turn
  while (!did.includes('resume')) await turn()
  assert.is(sent.length, 10_000)
  assert.equal(did, ['pause', 'resume'])
})

test('four million waiting characters pause the connection, too', () => {
  const { accepted, did } = connect(bind().connections)
  accepted.message('x'.repeat(4 * 1024 * 1024))
  assert.equal(did, ['pause'])
})

test('messages behind initialize wait until the session is open', async () => {
  const { connections } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  const { accepted, sent } = connect(connections)
  accepted.message(initialize)
  accepted.message(call(1))
  assert.equal(server.delivered, [])
  server.opened[0]?.resolve()
  await turn()
  assert.is(server.delivered.length, 1)
  assert.is(sent.length, 1)
})

test('a failed attach to a session is retried with the next message', async () => {
  const { connections } = bind()
  const server = makeServer()
  const attempts: string[] = []
  server.server.attach = async (sessionId) => {
    attempts.push(sessionId)
    if (attempts.length === 1) throw new Error('not now')
    return () => {}
  }
  connections.serve(server.serving)
  const { accepted, did } = connect(connections)
  await open(accepted, server)
  assert.equal([attempts.length, server.reports.length], [1, 1])
  accepted.message(call(1))
  await turn()
  assert.is(attempts.length, 2)
  accepted.message(call(2))
  await turn()
  assert.equal([attempts.length, did], [2, []])
})

test('answers to a batch go out one by one, long ones without room as errors', async () => {
  for (const [refusal, expected] of [
    [undefined, ['result', 'result']],
    [new Error('no room'), ['the request was carried out, but its answer finds no room: no room', 'result']],
  ] as const) {
    const { connections } = bind()
    const server = makeServer()
    const asked: number[] = []
    const add = (bytes: number): Error | undefined => {
      asked.push(bytes)
      return refusal
    }
    connections.serve(server.serving)
    const { accepted, texts } = connectWith(connections, { add })
    server.server.open = async ({ id }) => ({
      sessionId: 's',
      response: buildResult(id, { protocolVersion: '2025-03-26' }),
    })
    server.server.deliver = async (_session, message) => {
      const { id = 0 } = message as { id?: number }
      return buildResult(id, { text: 'x'.repeat(id === 1 ? 20_000 : 10) })
    }
    accepted.message(initialize)
    await turn()
    accepted.message(`[${call(1)},${call(2)}]`)
    await turn()
    const answers = texts.slice(1).map((text) => JSON.parse(text) as { error?: { message: string } })
    assert.equal(
      answers.map(({ error }) => error?.message ?? 'result'),
      expected,
    )
    assert.is(asked.length, 1)
    assert.ok((asked[0] ?? 0) > 20_000)
  }
})

test('when the listener ends, open requests get one error, and the session stays', async () => {
  const { connections } = bind()
  const server = makeServer()
  const stop = connections.serve(server.serving)
  const { accepted, sent } = connect(connections)
  await open(accepted, server)
  accepted.message(call(1))
  assert.is(connections.unanswered, 1)
  stop()
  assert.is(connections.unanswered, 0)
  const [, answer] = sent
  assert.ok(answer !== undefined && 'error' in answer)
  assert.equal(answer.error.data, { retryable: true })
  server.waiting[0]?.()
  await turn()
  assert.is(sent.length, 2)
  assert.equal(server.closed, [])
})

test('a session opened for a client that left or was told of failure is closed', async () => {
  for (const leave of ['client', 'listener']) {
    const { connections } = bind()
    const server = makeServer()
    const stop = connections.serve(server.serving)
    const { accepted } = connect(connections)
    accepted.message(initialize)
    if (leave === 'client') accepted.closed()
    else stop()
    server.opened[0]?.resolve()
    await turn()
    assert.equal(server.closed, ['s'], leave)
  }
})

test('a connection that ends without a listener has its session ended by the next', async () => {
  const { connections } = bind()
  const first = makeServer()
  const stop = connections.serve(first.serving)
  const { accepted } = connect(connections)
  await open(accepted, first)
  stop()
  accepted.closed()
  assert.is(connections.size, 1)
  const second = makeServer()
  connections.serve(second.serving)
  assert.equal(second.closed, ['s'])
  assert.is(connections.size, 0)
})

test('a transport that throws when it sends loses that connection and no other', () => {
  const { connections } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  const broken = connect(connections, () => {
    throw new Error('cable cut')
  })
  const good = connect(connections)
  for (let i = 0; i < 100; i++) broken.accepted.message(ping)
  good.accepted.message(ping)
  assert.equal(broken.did, ['going_away'])
  assert.is(good.sent.length, 1)
  assert.is(connections.size, 1)
  assert.is(server.reports.length, 1)
})

test('a permanently ended session ends its connection', async () => {
  const { connections } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  const { accepted, did } = connect(connections)
  await open(accepted, server)
  const gone: Services = {
    ...server.server,
    attach: () => Promise.reject(new TransportError('SESSION_NOT_FOUND', 'gone')),
  }
  connections.serve({ ...server.serving, server: serverPort(gone) })
  await turn()
  assert.equal(did, ['session_ended'])
})

test('a draining server refuses new requests and connections and finishes open ones', async () => {
  const { connections, clock } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  const { accepted, sent } = connect(connections)
  await open(accepted, server)
  accepted.message(call(1))
  let drained = false
  const draining = connections.drain(1_000, clock).then(() => {
    drained = true
  })
  accepted.message(call(2))
  assert.ok(sent.some((message) => 'error' in message && message.id === 2))
  assert.equal(connect(connections).did, ['going_away'])
  await turn()
  assert.not.ok(drained)
  server.waiting[0]?.()
  await draining
  assert.ok(sent.some((message) => 'result' in message && message.id === 1))
})

test('with a delay readiness ends first, and requests are served during the delay', async () => {
  const { connections, clock } = bind({ drainDelay: 500 })
  const server = makeServer()
  connections.serve(server.serving)
  const { accepted, sent } = connect(connections)
  await open(accepted, server)
  assert.ok(connections.isReady)
  const draining = connections.drain(1_000, clock)
  assert.not.ok(connections.isReady)
  accepted.message(call(1))
  assert.is(server.delivered.length, 1)
  await clock.advance(500)
  accepted.message(call(2))
  assert.ok(sent.some((message) => 'error' in message && message.id === 2))
  await clock.advance(500)
  await draining
})

test('a connection without sessions by revision is not ended for that', async () => {
  const { connections, clock } = bind({ openTimeout: 10 })
  const { server, serving } = makeServer()
  const exchange: Services['exchange'] = async ({ request: { id } }) => ({
    response: buildResult(id, {}),
    refused: false,
  })
  connections.serve({ ...serving, server: serverPort({ ...server, exchange }) })
  const { accepted, did, sent } = connect(connections)
  accepted.message(JSON.stringify(request(1, 'server/discover')))
  await turn()
  await clock.advance(60_000)
  assert.equal([did, sent.length], [[], 1])
})

test('a handshake-only transport refuses modern requests', async () => {
  const { connections } = bind({ handshakeOnly: true })
  const { port, calls } = exchanging()
  const { server, serving } = makeServer()
  connections.serve({ ...serving, server: serverPort({ ...server, ...port }) })
  const { accepted, sent } = connect(connections)
  accepted.message(JSON.stringify(request(1, 'server/discover')))
  assert.ok(sent[0] !== undefined && 'error' in sent[0])
  assert.is(sent[0].error.code, -32600)
  assert.is(calls.all.length, 0)
})

test('the end of the scope ends every connection', () => {
  const { connections, end } = bind()
  const all = [connect(connections), connect(connections)]
  end()
  assert.equal(
    all.map(({ did }) => did),
    [['going_away'], ['going_away']],
  )
})

test('excess connections, and those without a session, are ended', async () => {
  const { connections, clock } = bind({ maxConnections: 1, openTimeout: 10 })
  const first = connect(connections)
  assert.equal(connect(connections).did, ['too_many'])
  await clock.advance(10)
  assert.equal(first.did, ['no_session'])
})

test('a session open timeout is not reported as a restart', async () => {
  const { connections, clock } = bind({ openTimeout: 10 })
  const server = makeServer()
  connections.serve(server.serving)
  const late = connect(connections)
  late.accepted.message(initialize)
  await clock.advance(10)
  assert.equal([late.did, late.sent], [['no_session'], []])
  server.opened[0]?.resolve()
  await turn()
  assert.equal(server.closed, ['s'])
})

test('a connection that breaks while it is closed is closed once', async () => {
  const { connections, end } = bind()
  const server = makeServer()
  connections.serve(server.serving)
  let isCut = false
  const broken = connect(connections, () => {
    if (isCut) throw new Error('cable cut')
  })
  await open(broken.accepted, server)
  broken.accepted.message(call(1))
  isCut = true
  end()
  assert.equal(broken.did, ['going_away'])
  assert.is(connections.size, 0)
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()

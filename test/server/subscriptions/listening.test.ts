import * as assert from 'uvu/assert'
import { post } from '../_port.js'
import { buildRequest, type Envelope, type Message, type RequestId, writeEnvelope } from 'caduceus/protocol'
import { createFakeClock, defineActor } from 'caduceus/runtime'
import {
  defineResource,
  defineResourceTemplate,
  defineServer,
  type ServerOptions,
  startServer,
  subscribeServer,
} from 'caduceus/server'
import type { Binding, Sink, Peer, ServerPort } from 'caduceus/transports'
import type { ExchangeAnswer } from '../../support/ports.js'
import type { TreeWideOptions } from '../_servers.js'
import { textOf } from '../../../transports/base/encoded.js'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { count, echo } from '../_servers.js'

const test = suite('subscriptions/listen')

const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
const acknowledged = 'notifications/subscriptions/acknowledged'
const page = defineResource({ uri: 'x:page', name: 'page', read: () => 'a page' })

test('streams hear of components and resources as their filters say', async (t) => {
  const { server, listen } = await start(t)
  const tools = await listen({ toolsListChanged: true }, { id: 7 })
  const pages = await listen({ resourceSubscriptions: ['x:page'], resourcesListChanged: true }, { id: '7' })
  await server.addTool(echo)
  await server.resourceUpdated('x:page')
  await server.removeResource('x:page')
  assert.equal(await tools.next(), {
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: { [subscriptionId]: 7 } },
  })
  assert.equal(await pages.next(), {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: 'x:page', _meta: { [subscriptionId]: '7' } },
  })
  assert.equal(await pages.next(), {
    jsonrpc: '2.0',
    method: 'notifications/resources/list_changed',
    params: { _meta: { [subscriptionId]: '7' } },
  })
  assert.equal(tools.methods(), [acknowledged, 'notifications/tools/list_changed'])
})

test('capabilities the server lacks are left out of the acknowledgement', async (t) => {
  const { listen } = await start(t)
  const stream = await listen({ promptsListChanged: true, toolsListChanged: true })
  assert.equal(stream.first, {
    jsonrpc: '2.0',
    method: acknowledged,
    params: { notifications: { toolsListChanged: true }, _meta: { [subscriptionId]: 1 } },
  })
})

test('an abandoned stream leaves no timer', async (t) => {
  const { listen, clock } = await start(t, { fake: true })
  const principal = {
    issuer: 'https://a.example',
    subject: 'me',
    scopes: [],
    expiresAt: Date.now() + 600_000,
  }
  const before = clock.pending
  const stream = await listen({ toolsListChanged: true }, { from: { ...peer, principal } })
  assert.is(clock.pending, before + 1)
  stream.leave()
  await stream.answer
  assert.is(clock.pending, before)
})

test('simultaneous changes are sent together', async (t) => {
  const { server, listen, clock } = await start(t, { fake: true })
  const stream = await listen({ toolsListChanged: true })
  await server.addTool(echo)
  await server.removeTool('echo')
  await server.addTool(echo)
  await clock.advance(10)
  await stream.next()
  await server.removeTool('echo')
  await clock.advance(10)
  await stream.next()
  assert.is(stream.methods().length, 3)
})

test('a stalled reader is retried and loses its stream if it stays stalled', async (t) => {
  const { server, listen, clock } = await start(t, { fake: true })
  const slow = await listen({ toolsListChanged: true })
  const gone = await listen({ toolsListChanged: true }, { id: 2 })
  for (const stream of [slow, gone]) stream.isStalled = true
  await server.addTool(echo)
  await clock.advance(1_000)
  assert.equal(slow.methods(), [acknowledged])
  slow.isStalled = false
  await clock.advance(250)
  assert.equal(slow.methods(), [acknowledged, 'notifications/tools/list_changed'])
  await clock.advance(30_000)
  const { response } = await gone.answer
  assert.is(response !== undefined && 'result' in response && response.result.resultType, 'complete')
  assert.equal(gone.methods(), [acknowledged])
})

test('a client that leaves ends its stream without an answer', async (t) => {
  const { server, listen } = await start(t)
  const leaving = await listen({ toolsListChanged: true })
  const staying = await listen({ toolsListChanged: true })
  leaving.leave()
  assert.equal(await leaving.answer, { response: undefined, refused: false })
  await server.addTool(echo)
  await staying.next()
  assert.equal(leaving.methods(), [acknowledged])
})

test('a client that left before its stream began gets nothing', async (t) => {
  const { open } = await start(t)
  const stream = open({ toolsListChanged: true }, { gone: true })
  assert.equal(await stream.answer, { response: undefined, refused: false })
  assert.equal(stream.methods(), [])
})

test('a stopping server ends streams with their results', async (t) => {
  const { listen, port } = await start(t)
  const streams = [await listen({ toolsListChanged: true }, { id: 7 }), await listen({}, { id: 'x' })]
  port().endSubscriptions?.()
  const serverInfo = { name: 'test', version: '1' }
  for (const [index, id] of [7, 'x'].entries()) {
    assert.equal(plain((await streams[index]?.answer)?.response), {
      jsonrpc: '2.0',
      id,
      result: {
        resultType: 'complete',
        _meta: { [subscriptionId]: id, 'io.modelcontextprotocol/serverInfo': serverInfo },
      },
    })
  }
})

test('a malformed or too long filter is refused', async (t) => {
  const { open } = await start(t)
  const tooMany = Array.from({ length: 1_001 }, (_, n) => `a:${n}`)
  for (const filter of [undefined, 1, { toolsListChanged: 'yes' }, { resourceSubscriptions: tooMany }]) {
    const stream = open(filter as never)
    const { response, refused } = await stream.answer
    const code = response !== undefined && 'error' in response ? response.error.code : undefined
    assert.equal([code, refused, stream.methods()], [-32602, true, []])
  }
})

test('a stream beyond the limit is refused until another ends', async (t) => {
  const { open, listen } = await start(t, { limits: { subscriptions: 1 } })
  const first = await listen({})
  const refused = await open({}).answer.catch((error) => error)
  assert.equal([refused.code, refused.retryable], ['EXCHANGE_LIMIT', true])
  first.leave()
  await first.answer
  await listen({})
})

test('streams end with a retryable error when the base of the group crashes', async (t) => {
  const { server, listen } = await start(t)
  const stream = await listen({ toolsListChanged: true })
  server.registry.whereis('test/base')?.kill()
  const { response } = await stream.answer
  assert.equal(response !== undefined && 'error' in response && response.error.data, { retryable: true })
})

test('stream requests and their notifications emit events', async (t) => {
  const events = heard<string>()
  t.after(subscribeServer('request', ({ type, method }) => events.add(`${type} ${method}`)))
  t.after(subscribeServer('notification', ({ type, method }) => events.add(`${type} ${method}`)))
  const { server, listen, port } = await start(t)
  const stream = await listen({ toolsListChanged: true })
  await server.addTool(echo)
  await stream.next()
  port().endSubscriptions?.()
  await stream.answer
  assert.equal(events.all, [
    'start subscriptions/listen',
    `sent ${acknowledged}`,
    'sent notifications/tools/list_changed',
    'stop subscriptions/listen',
  ])
})

interface Options extends Partial<ServerOptions>, TreeWideOptions {
  readonly fake?: boolean
}

test.slow('others have their turn while the addresses of a filter are looked at', async (t) => {
  const template = (n: number) =>
    defineResourceTemplate({
      ...{ uriTemplate: `x://{+a}/${n}/{b}/end`, name: `t${n}`, scopes: ['x'], read: () => '' },
    })
  const { server, listen, open } = await start(t)
  for (let n = 0; n < 50; n++) await server.addResource(template(n))
  const words = Array.from({ length: 50 }, (_, n) => `/${n}/`).join('')
  const uris = Array.from({ length: 200 }, (_, n) => `x://${words}${n}/${'a'.repeat(6_000)}/end`)
  let turns = 0
  const count = (): void => {
    turns += 1
    turning = setImmediate(count)
  }
  let turning = setImmediate(count)
  t.after(() => clearImmediate(turning))
  const stream = await listen({ resourceSubscriptions: uris })
  assert.ok(turns > 5, `${turns} turns`)
  stream.leave()
  // who goes away meanwhile costs no more
  const before = turns
  const gone = open({ resourceSubscriptions: uris })
  await new Promise(setImmediate)
  gone.leave()
  await gone.answer
  assert.ok(turns - before < 5, `${turns - before} turns`)
})

/** A server whose listener is the test itself. */
async function start(t: TestContext, { fake = false, ...options }: Options = {}) {
  const clock = createFakeClock()
  const ports: ServerPort[] = []
  const binding: Binding = {
    url: undefined,
    port: undefined,
    start(ctx, server, { name }) {
      ports.push(server)
      return ctx.start(idle, undefined, { name })
    },
  }
  const definition = defineServer({ name: 'test', version: '1', tools: [count], resources: [page] })
  const transport = { name: 'fake', bind: async () => binding }
  const server = await startServer(definition, {
    transport,
    logger: false,
    ...(fake && { clock }),
    ...options,
  })
  t.after(() => server.stop())
  const port = (): ServerPort => ports.at(-1) as ServerPort
  const open = (filter: object, how: HowToOpen = {}) => new Stream(port(), filter, how)
  const listen = async (filter: object, how: HowToOpen = {}): Promise<Stream> => {
    const stream = open(filter, how)
    stream.first = await stream.next()
    return stream
  }
  return { server, open, listen, port, clock }
}

const idle = defineActor({ name: 'idle', init: () => ({}) })

interface HowToOpen {
  readonly id?: RequestId
  readonly gone?: boolean
  readonly from?: Peer
}

/** A client's end of a stream. */
class Stream implements Sink {
  readonly answer: Promise<ExchangeAnswer>
  readonly #heard: Heard<Message> = heard()
  readonly #controller = new AbortController()
  first: object | undefined
  /** Whether its reader has stopped. */
  isStalled = false

  constructor(port: ServerPort, filter: object, { id = 1, gone = false, from = peer }: HowToOpen) {
    if (gone) this.#controller.abort()
    this.answer = exchange(port, { id, filter, peer: from, sink: this, signal: this.#controller.signal })
    this.answer.catch(() => {}) // for who asks
  }

  send(message: Message): boolean {
    if (!this.isStalled) this.#heard.add(message)
    return !this.isStalled
  }

  leave(): void {
    this.#controller.abort()
  }

  async next(): Promise<object> {
    return plain(await this.#heard.next())
  }

  methods(): string[] {
    return this.#heard.all.flatMap((message) => ('method' in message ? [message.method] : []))
  }
}

const envelope: Envelope = {
  revision: '2026-07-28',
  clientCapabilities: {},
  clientInfo: undefined,
  logLevel: undefined,
}
const peer: Peer = { transport: 'fake', headers: {}, remoteAddress: undefined }

function exchange(
  port: ServerPort,
  { id, filter, ...rest }: { id: RequestId; filter: object; peer: Peer; sink: Sink; signal: AbortSignal },
): Promise<ExchangeAnswer> {
  const request = buildRequest(id, 'subscriptions/listen', {
    notifications: filter,
    _meta: writeEnvelope(envelope),
  })
  return post(port, { request, envelope, ...rest })
}

/** As it goes out. */
function plain(message: Message | undefined): object {
  return message === undefined ? {} : JSON.parse(textOf(message))
}

test.run()

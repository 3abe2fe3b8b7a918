import * as assert from 'uvu/assert'
import { subscribe } from 'caduceus/runtime'
import { defineServer, defineTool, type Server, startServer } from 'caduceus/server'
import {
  type Peer,
  serveHttp,
  type ServerTransport,
  serveSse,
  serveWebSocket,
  TransportError,
} from 'caduceus/transports'
import type { Services } from '../support/ports.js'
import { initialize, type Wire } from '../server/_client.js'
import { as, byName } from '../server/_principals.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { exchange, startListener } from './_listener.js'
import { greet, open, upgrade } from './websocket/_websocket.js'

const test = suite('principals of connections', { timeout: 15_000 })
const options = { authenticate: byName, timeouts: { authenticate: 50 } }
const call = { jsonrpc: '2.0', id: 'who', method: 'tools/call', params: { name: 'whoami' } }

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => ctx.principal?.subject ?? 'nobody' })

async function start(t: TestContext, transport: ServerTransport): Promise<Server> {
  const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })
  const server = await startServer(definition, { transport, logger: false })
  t.after(() => server.stop())
  return server
}

test('HTTP+SSE: a post of another principal is refused, and the stream goes on', async (t) => {
  const server = await start(t, serveSse(options))
  const { endpoint, messages } = await openStream(t, server, as('ada'))
  const post = async (message: object, headers: Record<string, string>) =>
    (
      await fetch(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(message),
      })
    ).status
  assert.is(await post(initialize('raw', '2024-11-05'), as('bob')), 404)
  assert.is(await post(initialize('raw', '2024-11-05'), {}), 404)
  assert.is(await post(initialize('raw', '2024-11-05'), as('refused')), 401)
  assert.is(await post(initialize('raw', '2024-11-05'), as('ada')), 202)
  await messages.next(({ id }) => id === 'init')
  assert.is(await post(call, as('bob')), 404)
  assert.is(await post(call, as('ada')), 202)
  assert.equal((await messages.next()).result?.content, [{ type: 'text', text: 'ada' }])
})

test('HTTP+SSE: an unidentified client gets no stream; a broken check fails alone', async (t) => {
  const server = await start(t, serveSse(options))
  const { messages } = await openStream(t, server, as('ada'))
  const answers = ['refused', 'thrower', 'never'].map(async (name) => {
    const { status, headers } = await fetch(String(server.url), {
      headers: { accept: 'text/event-stream', ...as(name) },
    })
    return [status, headers.get('www-authenticate')]
  })
  assert.equal(await Promise.all(answers), [
    [401, 'Bearer realm="x"'],
    [500, null],
    [503, null],
  ])
  assert.equal(messages.all, [])
})

for (const [name, serve] of Object.entries({ http: serveHttp, 'HTTP+SSE': serveSse }))
  for (const why of ['the client has left', 'the server has stopped'])
    test(`${name}: authenticate is aborted when ${why}`, async (t) => {
      const asked = heard<AbortSignal>()
      const authenticate = (_: Peer, { signal }: { readonly signal: AbortSignal }) => {
        asked.add(signal)
        return new Promise<never>(() => {})
      }
      const transport = serve({ authenticate, timeouts: { authenticate: 600_000 } })
      const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })
      const server = await startServer(definition, { transport, logger: false, timeouts: { drain: 1 } })
      t.after(() => server.stop())
      const leaving = new AbortController()
      const headers = { accept: 'text/event-stream' }
      const answer = fetch(String(server.url), { headers, signal: leaving.signal }).catch(() => {})
      const signal = await asked.next()
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (why === 'the client has left') leaving.abort()
      else await server.stop()
      await aborted
      await answer
    })

test('WebSocket: an unidentified client gets no socket; a broken check fails alone', async (t) => {
  const errors: unknown[] = []
  t.after(subscribe('stray', ({ error }) => void errors.push(error)))
  const server = await start(t, serveWebSocket(options))
  const ada = await open(t, server, { headers: as('ada') })
  assert.is(await upgrade(server, as('refused')), 401)
  assert.is(await upgrade(server, as('thrower')), 500)
  assert.is(await upgrade(server, as('never')), 503)
  assert.match(String(errors), /^Error: canary of the validator$/)
  await greet(ada)
  ada.socket.send(JSON.stringify(call))
  assert.equal((await ada.messages.next(({ id }) => id === 'who')).result?.content, [
    { type: 'text', text: 'ada' },
  ])
})

test('streams opened by a stranger evict none of the session', async (t) => {
  const attach: Services['attach'] = async (_id, sink, peer) => {
    if (peer?.headers.authorization !== 'ada') throw new TransportError('SESSION_NOT_FOUND', 'not theirs')
    sink.negotiated?.('2025-11-25')
    return () => {}
  }
  const { url } = await startListener(t, { attach }, { streams: { resume: { maxStreams: 1 } } })
  const get = (headers: Record<string, string>) => exchange(t, url, { method: 'GET', headers })
  const first = await get({ authorization: 'ada' })
  const { id } = await first.next()
  first.cut()
  assert.is((await get({ authorization: 'bob' })).status, 404)
  assert.is((await get({ authorization: 'ada', 'last-event-id': String(id) })).status, 200)
})

async function openStream(t: TestContext, server: Server, headers: Record<string, string>) {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const { body, status } = await fetch(String(server.url), {
    headers: { accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  })
  assert.is(status, 200)
  const endpoints = heard<string>()
  const messages = heard<Wire>()
  read(body, (event, data) => {
    if (event === 'endpoint') endpoints.add(data)
    else messages.add(JSON.parse(data))
  }).catch(() => {})
  return { endpoint: new URL(await endpoints.next(), server.url), messages }
}

async function read(body: Response['body'], tell: (event: string, data: string) => void): Promise<void> {
  let rest = ''
  for await (const chunk of body ?? []) {
    const blocks = (rest + Buffer.from(chunk).toString()).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (event !== undefined && data !== undefined) tell(event, data)
    }
  }
}

test.run()

import * as assert from 'uvu/assert'
import type { JsonRpcRequest } from 'caduceus/protocol'
import type { Server } from 'caduceus/server'
import { serveHttp, type ServerTransport } from 'caduceus/transports'
import { RawClient } from '../server/_client.js'
import { killAndWait } from '../server/_servers.js'
import { suite, type TestContext } from '../support/suite.js'
import { exchange } from './_listener.js'
import { headersOf, modern, request } from './_modern.js'
import { type Line, pipes } from './stdio/_pipes.js'
import { startSuiteServer } from './_suite-server.js'

const subscription = 'io.modelcontextprotocol/subscriptionId'

/** What has been asked, and what comes of it. */
type Asked = {
  next(): Promise<Line>
  /** Does not want it any more, in the way of the transport. */
  cancel(): void
}
type Client = { readonly server: Server; ask(request: JsonRpcRequest): Asked }

/** One request on each connection. */
async function overHttp(t: TestContext, start: (on: ServerTransport) => Promise<Server>): Promise<Client> {
  const server = await start(serveHttp())
  return {
    server,
    ask(request) {
      const sent = exchange(t, String(server.url), { body: request, headers: headersOf(request) })
      return {
        async next() {
          const reading = await sent
          const isStream = reading.headers['content-type'] === 'text/event-stream'
          return JSON.parse(isStream ? (await reading.next()).data : await reading.ended)
        },
        cancel: () => void sent.then((reading) => reading.cut()),
      }
    },
  }
}

/** All on one connection; a test waits for one thing at a time. */
function overPipe(open: (typeof pipes)[string] & {}) {
  return async (t: TestContext, start: (on: ServerTransport) => Promise<Server>): Promise<Client> => {
    const { listener, write, next } = await open(t, start)
    return {
      server: listener,
      ask(request) {
        write(request)
        const notice = {
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: request.id },
        }
        return { next, cancel: () => write(notice) }
      },
    }
  }
}

const connections = {
  http: overHttp,
  ...Object.fromEntries(Object.entries(pipes).map(([name, open]) => [name, overPipe(open)])),
}

for (const [transport, connect] of Object.entries(connections)) {
  const test = suite(`2026-07-28 over ${transport}`)

  async function start(t: TestContext): Promise<Client> {
    return connect(t, async (on) => {
      const server = await startSuiteServer(on)
      t.after(() => server.stop())
      return server
    })
  }

  test('server/discover works without a session', async (t) => {
    const { server, ask } = await start(t)
    const { result } = await ask(request('d', 'server/discover')).next()
    assert.equal([result?.resultType, result?.supportedVersions], ['complete', [modern]])
    assert.is(result?.instructions, 'Be kind.')
    assert.is((await server.sessions()).length, 0)
  })

  test('a tool is called; its progress comes before its result', async (t) => {
    const { ask } = await start(t)
    const meta = { ...(request(0, 'x').params?._meta as object), progressToken: 'p' }
    const asked = ask(request(1, 'tools/call', { name: 'steps' }, meta))
    for (const step of [1, 2, 3])
      assert.equal((await asked.next()).params, { progressToken: 'p', progress: step, total: 3 })
    const { id, result } = await asked.next()
    assert.equal([id, result?.content], [1, [{ type: 'text', text: 'stepped' }]])
  })

  test('a cancelled call ends at the server', async (t) => {
    const { ask } = await start(t)
    const meta = { ...(request(0, 'x').params?._meta as object), progressToken: 'p' }
    const asked = ask(request(1, 'tools/call', { name: 'wait' }, meta))
    await asked.next()
    asked.cancel()
    for (let id = 2; ; id++) {
      const { result } = await ask(request(id, 'tools/call', { name: 'aborted' })).next()
      if (JSON.stringify(result).includes('"1"')) break
    }
  })

  test('a restarting server tells open requests, and serves on', async (t) => {
    const { server, ask } = await start(t)
    const meta = { ...(request(0, 'x').params?._meta as object), progressToken: 'p' }
    const asked = ask(request(1, 'tools/call', { name: 'wait' }, meta))
    await asked.next()
    const back = killAndWait(server, 'suite/base')
    const { error } = await asked.next()
    assert.equal([error?.code, error?.data], [-32603, { retryable: true }])
    await back
    const { result } = await ask(request(2, 'tools/call', { name: 'echo', arguments: { text: 'on' } })).next()
    assert.equal(result?.content, [{ type: 'text', text: 'on' }])
  })

  test('a subscription is acknowledged, told of changes, and ended with the server', async (t) => {
    const { server, ask } = await start(t)
    const asked = ask(request(7, 'subscriptions/listen', { notifications: { toolsListChanged: true } }))
    const acknowledged = await asked.next()
    assert.is(acknowledged.method, 'notifications/subscriptions/acknowledged')
    assert.equal(acknowledged.params, {
      notifications: { toolsListChanged: true },
      _meta: { [subscription]: 7 },
    })
    await server.removeTool('count')
    const changed = await asked.next()
    assert.equal(
      [changed.method, changed.params?._meta],
      ['notifications/tools/list_changed', { [subscription]: 7 }],
    )
    const stopped = server.stop()
    const { id, result } = await asked.next()
    assert.equal([id, result?.resultType], [7, 'complete'])
    assert.is((result?._meta as Record<string, unknown> | undefined)?.[subscription], 7)
    await stopped
  })

  test.run()
}

const test = suite('two eras on one endpoint')

test('sessions and requests without one are served side by side', async (t) => {
  const server = await startSuiteServer(serveHttp())
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open()
  const list = request(1, 'tools/list')
  const [old, other] = await Promise.all([
    client.text('count'),
    exchange(t, String(server.url), {
      body: list,
      headers: { ...headersOf(list), 'mcp-session-id': client.sessionId },
    }),
  ])
  assert.is(old, '1')
  assert.is(JSON.parse(await other.ended).result.resultType, 'complete')
  assert.is(other.headers['mcp-session-id'], undefined)
  assert.is(await client.text('count'), '2')
})

test.run()

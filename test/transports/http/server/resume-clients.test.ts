// second tier: time
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createFront, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineTool } from 'caduceus/server'
import { http } from 'caduceus/transports'
import { echo, startTestServer } from '../../../server/_servers.js'
import { serveTwice } from '../streams/_logs.js'
import { suite, type TestContext } from '../../../support/suite.js'

const test = suite('http resume with clients')

for (const [where, start] of [
  ['', startCutting],
  [' on another process', startCuttingTwice],
] as const) {
  test(`client 1 gets answer and notifications of broken streams${where}`, async (t) => {
    const place = '@modelcontextprotocol/sdk/client'
    const { Client } = await import(`${place}/index.js`)
    const { StreamableHTTPClientTransport } = await import(`${place}/streamableHttp.js`)
    const official = { Client, StreamableHTTPClientTransport, hasSchema: true }
    await tryOfficial(await start(t), t, official, async (client, changed) => {
      const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js')
      client.setNotificationHandler(ToolListChangedNotificationSchema, changed)
    })
  })

  test(`client 2 gets answer and notifications of broken streams${where}`, async (t) => {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const official = { Client, StreamableHTTPClientTransport, hasSchema: false } as unknown as Official
    await tryOfficial(await start(t), t, official, async (client, changed) => {
      client.setNotificationHandler('notifications/tools/list_changed', changed)
    })
  })

  test(`our client gets answer and notifications of broken streams${where}`, async (t) => {
    const { url, server, cut, progressed, finish } = await start(t)
    const client = startClient({ transport: http(url), logger: false })
    t.after(() => client.close())
    const changed = makeSignal()
    client.onNotification('notifications/tools/list_changed', changed.resolve)
    const heard = makeSignal()
    const result = client.callTool('slow', {}, { onProgress: heard.resolve })
    await progressed
    await heard.promise
    await cut()
    await server.addTool(echo)
    finish()
    assert.equal((await result).content, [{ type: 'text', text: 'done' }])
    await changed.promise
  })
}

interface OfficialClient {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  setNotificationHandler(schema: unknown, handler: () => void): void
  callTool(params: object, ...rest: (object | undefined)[]): Promise<{ content: unknown }>
}

interface Official {
  readonly Client: new (info: object, options?: object) => OfficialClient
  /** Whether a schema comes before the options of a call. */
  readonly hasSchema: boolean
  readonly StreamableHTTPClientTransport: new (url: URL, options: object) => object
}

async function tryOfficial(
  { url, server, cut, progressed, finish }: Awaited<ReturnType<typeof startCutting>>,
  t: TestContext,
  { Client, StreamableHTTPClientTransport, hasSchema }: Official,
  listen: (client: OfficialClient, changed: () => void) => Promise<void>,
): Promise<void> {
  const client = new Client({ name: 'official', version: '1' })
  t.after(() => client.close())
  const reconnectionOptions = {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 20,
    reconnectionDelayGrowFactor: 1,
    maxRetries: 20,
  }
  let changes = 0
  const changed = new Promise<void>((resolve) => {
    void listen(client, () => {
      changes += 1
      resolve()
    })
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { reconnectionOptions }))
  const progress: unknown[] = []
  const options = { onprogress: (news: unknown) => progress.push(news) }
  const result = client.callTool({ name: 'slow' }, ...(hasSchema ? [undefined] : []), options)
  await progressed
  while (progress.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await cut()
  await server.addTool(echo)
  finish()
  assert.equal((await result).content, [{ type: 'text', text: 'done' }])
  await changed
  assert.is(changes, 1)
}

/** A server whose connections a test cuts, with a tool that is in the middle of its work then. */
async function startCutting(t: TestContext) {
  const { slow, ...signals } = slowTool()
  const listening = createServer()
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listening.closeAllConnections()
    return new Promise((resolve) => listening.close(resolve))
  })
  const server = await startTestServer(t, [slow], {
    http: { server: listening, streams: { retryInterval: 30 } },
  })
  assert.is(server.port, (listening.address() as AddressInfo).port)
  return {
    url: String(server.url),
    server,
    ...signals,
    /** Resolves once the server knows that all are gone. */
    async cut(): Promise<void> {
      listening.closeAllConnections()
      const count = (): Promise<number> =>
        new Promise((resolve) => listening.getConnections((_error, open) => resolve(open)))
      while ((await count()) > 0) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** The same, with two processes: whoever is cut off comes back to the other one. */
async function startCuttingTwice(t: TestContext) {
  const { slow, ...signals } = slowTool()
  const { transport, ports } = serveTwice({ streams: { retryInterval: 30 } })
  const server = await startTestServer(t, [slow], { transport })
  const sockets = new Set<Socket>()
  let turn = 0
  const front = createFront((client) => {
    const through = connect(Number(ports[turn % 2]), '127.0.0.1')
    for (const [socket, other] of [
      [client, through],
      [through, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const end = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    end()
    return new Promise((resolve) => front.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`,
    server,
    ...signals,
    async cut(): Promise<void> {
      turn += 1
      end()
      while (sockets.size > 0) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

function slowTool() {
  const [progressed, finished] = [makeSignal(), makeSignal()]
  const slow = defineTool({
    name: 'slow',
    async run(_args, ctx) {
      ctx.progress(1, 2)
      progressed.resolve()
      await finished.promise
      return 'done'
    },
  })
  return { slow, progressed: progressed.promise, finish: finished.resolve }
}

function makeSignal() {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}

test.run()

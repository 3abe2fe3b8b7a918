// second tier: time
// shares a process
// time limit: 120 s
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { type CallOptions, type Client, ClientError, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { http, memory, serveHttp, serveWebSocket, stdio, websocket } from 'caduceus/transports'
import { serveTcp, tcp } from '../examples/tcp-transport.js'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { type Carrier, inProcess, type StartCarrier, text } from './_suite.js'

const program = fileURLToPath(new URL('./_suite-program.js', import.meta.url))

const carriers: { readonly [Name in string]: StartCarrier } = {
  stdio: async () => ({
    connect: () => stdio({ command: process.execPath, args: [program] }),
    restart: (client) => client.callTool('exit').catch(() => {}),
  }),
  'Streamable HTTP': (t) =>
    inProcess(t, { serve: ({ port = 0 }) => serveHttp({ port }), connect: (url) => http(url) }),
  WebSocket: (t) =>
    inProcess(t, { serve: ({ port = 0 }) => serveWebSocket({ port }), connect: (url) => websocket(url) }),
  memory: (t) => {
    const pair = memory()
    return inProcess(t, { serve: () => pair.serve, connect: () => pair.connect })
  },
  'TCP, a transport of a user': (t) =>
    inProcess(t, {
      serve: ({ port = 0 }) => serveTcp({ port }),
      connect: (url) => tcp({ port: Number(new URL(url).port) }),
    }),
}

for (const [name, start] of Object.entries(carriers)) {
  const test = suite(`${name}: every transport, in 2026-07-28`, { timeout: 15_000 })

  test('a client learns who the server is, and no session begins', async (t) => {
    const carrier = await start(t)
    const client = await connected(t, carrier)
    assert.is(client.server?.revision, '2026-07-28')
    assert.is(client.server?.info.name, 'suite')
    const hard = 'a\nb\r\nc\u2028\u0000"\\ € 𝒳 data: x\n\nevent: y'
    assert.is(await text(client, 'echo', { text: hard }), hard)
    assert.is((await carrier.sessions?.()) ?? 0, 0)
  })

  test('progress comes in order and before the result', async (t) => {
    const client = await connected(t, await start(t))
    const seen: number[] = []
    const result = await client.callTool('steps', {}, { onProgress: ({ progress }) => seen.push(progress) })
    assert.equal(seen, [1, 2, 3])
    assert.is(result.text, 'stepped')
  })

  test('an aborted call is cancelled at the server, and others go on', async (t) => {
    const client = await connected(t, await start(t))
    const controller = new AbortController()
    const entered = heard<number>()
    const waiting = settled(client, 'wait', { signal: controller.signal, onProgress: () => entered.add(1) })
    await entered.next()
    controller.abort()
    const error = await waiting
    assert.ok(error instanceof ClientError && error.code === 'CANCELLED', String(error))
    while ((await text(client, 'aborted')) !== '1');
  })

  test('errors keep their kind and end nothing', async (t) => {
    const client = await connected(t, await start(t))
    const unknown = await settled(client, 'nowhere')
    assert.ok(unknown instanceof McpError && unknown.code === -32602, String(unknown))
    const refused = await client.callTool('refuse')
    assert.equal([refused.isError, refused.text], [true, 'not today'])
    assert.not.ok(JSON.stringify(await settled(client, 'crash')).includes('secret'))
    await client.ping()
  })

  test('a 2 MiB message arrives whole, both ways', async (t) => {
    const client = await connected(t, await start(t))
    const big = 'mögen täte '.repeat(180_000)
    assert.is(await text(client, 'echo', { text: big }), big)
  })

  test('fifty calls at once are all answered, each with its own answer', async (t) => {
    const client = await connected(t, await start(t))
    const texts = Array.from({ length: 50 }, (_, i) => `text ${i}`)
    assert.equal(await Promise.all(texts.map((one) => text(client, 'echo', { text: one }))), texts)
  })

  test('a killed server group fails the call in flight, and the next one is served', async (t) => {
    const client = await connected(t, await start(t))
    const entered = heard<number>()
    const waiting = settled(client, 'wait', { onProgress: () => entered.add(1) })
    await entered.next()
    await client.callTool('kill', { name: 'group' }).catch(() => {})
    assert.ok((await waiting) instanceof Error, 'the call fails')
    while ((await text(client, 'echo', { text: 'there?' }).catch(String)) !== 'there?');
  })

  test('clients return to a server that was stopped and restarted', async (t) => {
    const carrier = await start(t)
    const client = await connected(t, carrier)
    await text(client, 'echo', { text: 'a' })
    await carrier.restart(client)
    while ((await text(client, 'echo', { text: 'there?' }).catch(String)) !== 'there?');
    assert.is(client.server?.revision, '2026-07-28')
  })

  test('a closing client rejects its waiting calls', async (t) => {
    const carrier = await start(t)
    const client = await connected(t, carrier)
    const entered = heard<number>()
    const waiting = settled(client, 'wait', { onProgress: () => entered.add(1) })
    await entered.next()
    await client.close()
    const error = await waiting
    assert.ok(error instanceof ClientError && error.code === 'CLOSED', String(error))
    if (carrier.sessions === undefined) return // its process has ended with it
    const other = await connected(t, carrier)
    while ((await text(other, 'aborted')) !== '1');
  })

  test.run()
}

async function connected(t: TestContext, carrier: Pick<Carrier, 'connect'>): Promise<Client> {
  const backoff = { base: 20, cap: 200 }
  const transport = carrier.connect()
  const client = startClient({ transport, era: 'modern', backoff, timeout: 60_000, logger: false })
  t.after(() => client.close())
  await client.ready()
  return client
}

function settled(client: Client, tool: string, options?: CallOptions): Promise<unknown> {
  return client.callTool(tool, {}, options).catch((error: unknown) => error)
}

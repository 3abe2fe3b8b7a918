import * as assert from 'uvu/assert'
import { type CallOptions, type Client, ClientError, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import type { ClientTransport, ServerTransport } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { type Suite, suite, type TestContext } from '../support/suite.js'
import { startSuiteServer } from './_suite-server.js'

/** One transport under test: where its server is, and how clients get there. */
export type Carrier = {
  /** One more client; of a server in a process of its own, one more process. */
  connect(): ClientTransport
  /** Ends the whole server, with whatever it holds, and brings it back at the same place. */
  restart(client: Client): Promise<unknown>
  /** Sessions that the server has now; undefined where each client has a server. */
  sessions?(): Promise<number>
}

/** Starts what a test needs; it goes away with the test. */
export type StartCarrier = (t: TestContext) => Promise<Carrier>

/** Both ends of a transport whose server lives in this process; `place` is where the server was before, for a start at the same place. */
export type Ends = {
  serve(place: { port: number | undefined }): ServerTransport
  connect(url: string): ClientTransport
}

/** A carrier whose server lives in this process. */
export async function inProcess(t: TestContext, ends: Ends): Promise<Carrier> {
  let server = await startSuiteServer(ends.serve({ port: undefined }))
  t.after(() => server.stop())
  return {
    connect: () => ends.connect(String(server.url)),
    sessions: async () => (await server.sessions()).length,
    async restart() {
      const place = { port: server.port }
      await server.stop()
      server = await startSuiteServer(ends.serve(place))
    },
  }
}

const all = [
  'echo',
  'count',
  'steps',
  'wait',
  'aborted',
  'refuse',
  'crash',
  'ask',
  'kill',
  'grow',
  'sessions',
  'exit',
]

/** Runs the promises that every transport keeps, through a supervised client and a supervised server. */
export function transportSuite(name: string, start: StartCarrier): Suite {
  const test = suite(`${name}: every transport`, { timeout: 15_000 })

  test('a client initializes and learns who the server is', async (t) => {
    const client = await connected(t, await start(t))
    assert.equal(client.server?.info, { name: 'suite', version: '1.0.0' })
    assert.is(client.server?.instructions, 'Be kind.')
    assert.is(client.server?.revision, '2025-11-25')
    await client.ping()
  })

  test('tools are listed and called with any characters', async (t) => {
    const client = await connected(t, await start(t))
    const { tools } = await client.listTools()
    assert.equal(
      tools.map((tool) => tool.name),
      all,
    )
    const hard = 'a\nb\r\nc\u2028\u0000"\\ € 𝒳 data: x\n\nevent: y'
    assert.is(await text(client, 'echo', { text: hard }), hard)
    assert.is(await text(client, 'echo', { text: '' }), '')
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
    const options = { signal: controller.signal, onProgress: () => entered.add(1) }
    const waiting = settled(client, 'wait', {}, options)
    await entered.next()
    assert.is(await text(client, 'aborted'), '0')
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
    const crashed = await client.callTool('crash').then(
      (result) => result.text,
      (error) => String(error),
    )
    assert.not.ok(crashed.includes('secret'), crashed)
    assert.is(await text(client, 'count'), '1')
  })

  test('a question during a call reaches the client, and its answer the call', async (t) => {
    const client = await connected(t, await start(t))
    assert.is(await text(client, 'ask'), 'the client is there')
  })

  test('a 2 MiB message arrives whole, both ways', async (t) => {
    const client = await connected(t, await start(t))
    const big = 'mögen täte '.repeat(180_000)
    assert.is(await text(client, 'echo', { text: big }), big)
  })

  test('a hundred calls at once are all answered, each with its own answer', async (t) => {
    const client = await connected(t, await start(t))
    const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`)
    const answers: string[] = []
    for (let i = 0; i < texts.length; i += 50) {
      answers.push(
        ...(await Promise.all(texts.slice(i, i + 50).map((one) => text(client, 'echo', { text: one })))),
      )
    }
    assert.equal(answers, texts)
  })

  test('each client has a session of its own', async (t) => {
    const carrier = await start(t)
    const [a, b] = await Promise.all([connected(t, carrier, 'a'), connected(t, carrier, 'b')])
    assert.equal([await text(a, 'count'), await text(a, 'count'), await text(b, 'count')], ['1', '2', '1'])
    await a.close()
    assert.is(await text(b, 'count'), '2')
  })

  test('a change of the tool list is sent to the client', async (t) => {
    const client = await connected(t, await start(t))
    const changes = heard<unknown>()
    client.onNotification('notifications/tools/list_changed', changes.add)
    await text(client, 'grow')
    await changes.next()
    const { tools } = await client.listTools()
    assert.is(tools.at(-1)?.name, 'grown')
  })

  test('a killed session fails its calls and returns with its state', async (t) => {
    const client = await connected(t, await start(t))
    assert.is(await text(client, 'count'), '1')
    const waiting = await entered(client)
    await settled(client, 'kill')
    const error = await waiting.error
    assert.ok(error instanceof Error, 'the call fails')
    assert.is(await text(client, 'count'), '2')
    assert.is(client.inspect().counts.sessions, 1)
  })

  test('a killed server group returns with the session and its state', async (t) => {
    const client = await connected(t, await start(t))
    assert.is(await text(client, 'count'), '1')
    const waiting = await entered(client)
    await settled(client, 'kill', { name: 'group' })
    assert.ok((await waiting.error) instanceof Error, 'the call fails')
    while ((await textOrError(client, 'echo', { text: 'there?' })) !== 'there?');
    assert.is(await text(client, 'count'), '2')
    assert.is(client.inspect().counts.sessions, 1)
  })

  test('clients return with new sessions to a server that was restarted', async (t) => {
    const carrier = await start(t)
    const client = await connected(t, carrier)
    await text(client, 'count')
    await carrier.restart(client)
    while ((await textOrError(client, 'echo', { text: 'there?' })) !== 'there?');
    assert.is(await text(client, 'count'), '1')
    assert.is(client.inspect().counts.sessions, 2)
  })

  test('killed holdings return at the same address, with new sessions', async (t) => {
    const carrier = await start(t)
    if (carrier.sessions === undefined) return // the pipes of a process cannot be taken twice
    const client = await connected(t, carrier)
    await settled(client, 'kill', { name: 'holdings' })
    while ((await textOrError(client, 'echo', { text: 'there?' })) !== 'there?');
    assert.is(await text(client, 'count'), '1')
  })

  test('a closing client ends its session and rejects its waiting calls', async (t) => {
    const carrier = await start(t)
    const client = await connected(t, carrier)
    const waiting = await entered(client)
    await client.close()
    const error = await waiting.error
    assert.ok(error instanceof ClientError && error.code === 'CLOSED', String(error))
    const { sessions } = carrier
    if (sessions === undefined) return // its process has ended with it
    while ((await sessions()) > 0) await turn()
    const other = await connected(t, carrier, 'other')
    while ((await text(other, 'aborted')) !== '1');
  })

  return test
}

/** A supervised client that is ready; it closes with the test. */
export async function connected(
  t: TestContext,
  carrier: Pick<Carrier, 'connect'>,
  name = 'client',
): Promise<Client> {
  const backoff = { base: 20, cap: 200 }
  const client = startClient({ transport: carrier.connect(), name, backoff, timeout: 60_000, logger: false })
  t.after(() => client.close())
  await client.ready()
  return client
}

/** The text of a result. */
export async function text(
  client: Client,
  tool: string,
  args: Record<string, unknown> = {},
): Promise<string> {
  return (await client.callTool(tool, args)).text
}

/** Calls `wait` and resolves once that runs; `error` is how it ends. */
async function entered(client: Client): Promise<{ error: Promise<unknown> }> {
  const running = heard<number>()
  const error = settled(client, 'wait', {}, { onProgress: () => running.add(1) })
  await running.next()
  return { error }
}

function settled(
  client: Client,
  tool: string,
  args: Record<string, unknown> = {},
  options?: CallOptions,
): Promise<unknown> {
  return client.callTool(tool, args, options).catch((error: unknown) => error)
}

function textOrError(client: Client, tool: string, args: Record<string, unknown>): Promise<string> {
  return text(client, tool, args).catch(String)
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

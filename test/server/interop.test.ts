import * as assert from 'uvu/assert'
import { defineTool } from 'caduceus/server'
import { suite, type TestContext } from '../support/suite.js'
import { count, echo, startTestServer } from './_servers.js'

const test = suite('server with the official client')
const place = '@modelcontextprotocol/sdk/client'

test('the official client calls tools with progress, cancels and ends its session', async (t) => {
  const steps = defineTool({
    name: 'steps',
    run(_args, ctx) {
      for (const step of [1, 2]) ctx.progress(step, 2)
      return 'stepped'
    },
  })
  const [entered, aborted] = [makeSignal(), makeSignal()]
  const slow = defineTool({
    name: 'slow',
    run: (_args, { signal }) => {
      signal.addEventListener('abort', aborted.resolve)
      entered.resolve()
      return new Promise(() => {})
    },
  })
  const server = await startTestServer(t, [count, steps, slow])
  const { client, transport } = await connectOfficial(t, String(server.url))
  assert.equal(client.getServerVersion(), { name: 'test', version: '1.0.0' })
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    ['count', 'steps', 'slow'],
  )
  assert.equal((await client.callTool({ name: 'count', arguments: { by: 2 } })).content, [
    { type: 'text', text: '2' },
  ])
  const progress: number[] = []
  await client.callTool({ name: 'steps' }, undefined, {
    onprogress: (news: { progress: number }) => progress.push(news.progress),
  })
  assert.equal(progress, [1, 2])
  const changed = new Promise<void>((resolve) => client.onListChanged(resolve))
  await server.addTool(echo)
  await changed
  assert.equal((await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).content, [
    { type: 'text', text: 'hi' },
  ])
  const controller = new AbortController()
  const cancelled = client
    .callTool({ name: 'slow' }, undefined, { signal: controller.signal })
    .catch(() => 'cancelled')
  // its cancellation comes by another connection
  await entered.promise
  controller.abort()
  assert.is(await cancelled, 'cancelled')
  await aborted.promise
  await transport.terminateSession()
  assert.equal(await server.sessions(), [])
})

test('the official client goes on with its session after the group was restarted', async (t) => {
  const server = await startTestServer(t, [count])
  const { client } = await connectOfficial(t, String(server.url))
  await client.callTool({ name: 'count' })
  server.registry.whereis('test/transport')?.kill()
  assert.equal((await client.callTool({ name: 'count' })).content, [{ type: 'text', text: '2' }])
})

/** What these tests use of the official client. */
interface OfficialClient {
  connect(transport: object): Promise<void>
  getServerVersion(): unknown
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: object, schema?: undefined, options?: object): Promise<{ content: unknown }>
  onListChanged(fn: () => void): void
  close(): Promise<void>
}

async function connectOfficial(t: TestContext, url: string) {
  const { Client } = await import(`${place}/index.js`)
  const { StreamableHTTPClientTransport } = await import(`${place}/streamableHttp.js`)
  const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js' as string)
  const client = new Client({ name: 'official', version: '1' })
  client.onListChanged = (fn: () => void) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, fn)
  const transport = new StreamableHTTPClientTransport(new URL(url))
  await client.connect(transport)
  t.after(() => client.close())
  return { client: client as OfficialClient, transport: transport as { terminateSession(): Promise<void> } }
}

function makeSignal() {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve: () => resolve() }
}

test.run()

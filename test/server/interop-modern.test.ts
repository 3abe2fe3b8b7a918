// second tier: time
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { type Server, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { interopDefinition } from './_interop-definition.js'

const test = suite('2026-07-28 with the official client', { timeout: 20_000 })
const place = '@modelcontextprotocol/client'
const program = fileURLToPath(new URL('./_interop-program.js', import.meta.url))
const modes = ['auto', { pin: '2026-07-28' }]
const modern = '2026-07-28'

for (const mode of modes) {
  for (const kind of ['HTTP', 'standard input']) {
    const how = `over ${kind} (${JSON.stringify(mode)})`

    test(`the official client discovers and calls, ${how}`, async (t) => {
      const { client } = await connect(t, kind, mode)
      assert.equal(client.getServerVersion(), { name: 'interop', version: '1.2.3' })
      assert.is(client.getInstructions(), 'Be kind.')
      assert.equal(namesOf((await client.listTools()).tools), [
        'echo',
        'steps',
        'seen',
        'slow',
        'aborted',
        'change',
      ])
      assert.equal(namesOf((await client.listResources()).resources), ['page'])
      assert.equal(namesOf((await client.listResourceTemplates()).resourceTemplates), ['file'])
      assert.equal(namesOf((await client.listPrompts()).prompts), ['greet'])
      assert.is((await client.readResource({ uri: 'f:///a' })).contents[0]?.text, 'file a')
      const greeting = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })
      assert.equal(greeting.messages[0]?.content, { type: 'text', text: 'Greet Ada.' })
      const ref = { type: 'ref/prompt', name: 'greet' }
      const completed = await client.complete({ ref, argument: { name: 'who', value: 'Ad' } })
      assert.equal(completed.completion.values, ['Ada'])
      // the client has seen the schema, and mirrors what is not ASCII in a header
      assert.is(await textOf(client, 'echo', { text: 'žluťoučký 🐍' }), 'žluťoučký 🐍')
    })

    test(`the official client gets the errors it expects, ${how}`, async (t) => {
      const { client } = await connect(t, kind, mode)
      const wrong = await client.callTool({ name: 'echo', arguments: {} })
      assert.is(wrong.isError, true)
      const codeOf = (error: { code?: unknown }) => error.code
      assert.is(await client.callTool({ name: 'none' }).catch(codeOf), -32602)
      assert.is(await client.readResource({ uri: 'f:///gone' }).catch(codeOf), -32602)
      assert.is(await client.getPrompt({ name: 'greet', arguments: {} }).catch(codeOf), -32602)
    })

    test(`the official client sees progress and cancels, ${how}`, async (t) => {
      const { client } = await connect(t, kind, mode)
      const progress: number[] = []
      const onprogress = (news: { progress: number }) => {
        progress.push(news.progress)
        if (news.progress === 2) void textOf(client, 'seen')
      }
      await client.callTool({ name: 'steps' }, { onprogress })
      assert.equal(progress, [1, 2])
      const controller = new AbortController()
      const options = { signal: controller.signal, onprogress: () => controller.abort() }
      const cancelled = client.callTool({ name: 'slow' }, options).catch(() => 'cancelled')
      assert.is(await cancelled, 'cancelled')
      assert.is(await textOf(client, 'aborted'), 'aborted')
    })

    test(`changes arrive on two streams until they are closed, ${how}`, async (t) => {
      const { client } = await connect(t, kind, mode)
      const news = heard<string>()
      client.setNotificationHandler('notifications/tools/list_changed', () => news.add('tools'))
      client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
        news.add(String(params.uri)),
      )
      const tools = await client.listen({ toolsListChanged: true, promptsListChanged: true })
      const pages = await client.listen({ resourceSubscriptions: ['x:page', 'x:other'] })
      assert.equal(tools.honoredFilter, { toolsListChanged: true, promptsListChanged: true })
      assert.equal(pages.honoredFilter, { resourceSubscriptions: ['x:page', 'x:other'] })
      await textOf(client, 'change')
      assert.equal([await news.next(), await news.next()].sort(), ['tools', 'x:page'])
      assert.ok(namesOf((await client.listTools()).tools).includes('late'))
      await tools.close()
      await pages.close()
      assert.equal([await tools.closed, await pages.closed], ['local', 'local'])
    })
  }

  test(`a server that stops ends its streams in order (${JSON.stringify(mode)})`, async (t) => {
    const { client, server } = await connect(t, 'HTTP', mode)
    const stream = await client.listen({ toolsListChanged: true })
    await server?.stop()
    assert.is(await stream.closed, 'graceful')
  })
}

test('a client without the modern era is served as before', async (t) => {
  for (const kind of ['HTTP', 'standard input']) {
    const { client } = await connect(t, kind, 'legacy', '2025-11-25')
    assert.is(await textOf(client, 'echo', { text: 'hi' }), 'hi')
  }
})

type Named = { readonly name: string }

/** What these tests use of the official client. */
interface OfficialClient {
  getNegotiatedProtocolVersion(): string
  getServerVersion(): unknown
  getInstructions(): string
  listTools(): Promise<{ tools: Named[] }>
  listResources(): Promise<{ resources: Named[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: Named[] }>
  listPrompts(): Promise<{ prompts: Named[] }>
  readResource(params: object): Promise<{ contents: { text: string }[] }>
  getPrompt(params: object): Promise<{ messages: { content: object }[] }>
  complete(params: object): Promise<{ completion: { values: string[] } }>
  callTool(params: object, options?: object): Promise<{ content: { text: string }[]; isError?: boolean }>
  setNotificationHandler(method: string, fn: (news: { params: Record<string, unknown> }) => void): void
  listen(filter: object): Promise<{ honoredFilter: object; closed: Promise<string>; close(): Promise<void> }>
  connect(transport: object): Promise<void>
  close(): Promise<void>
}

async function connect(t: TestContext, kind: string, mode: unknown, revision = modern) {
  const { Client } = await import(place)
  const { transport, server } = await reach(t, kind)
  const client: OfficialClient = new Client(
    { name: 'official', version: '2' },
    { versionNegotiation: { mode } },
  )
  await client.connect(transport)
  t.after(() => client.close())
  assert.is(client.getNegotiatedProtocolVersion(), revision)
  return { client, server }
}

async function reach(t: TestContext, kind: string): Promise<{ transport: object; server?: Server }> {
  if (kind === 'standard input') {
    const { StdioClientTransport } = await import(`${place}/stdio`)
    return { transport: new StdioClientTransport({ command: process.execPath, args: [program] }) }
  }
  const server: Server = await startServer(
    interopDefinition(() => server),
    { transport: serveHttp(), logger: false },
  )
  t.after(() => server.stop())
  const { StreamableHTTPClientTransport } = await import(place)
  return { transport: new StreamableHTTPClientTransport(new URL(String(server.url))), server }
}

async function textOf(client: OfficialClient, name: string, args: object = {}): Promise<string | undefined> {
  return (await client.callTool({ name, arguments: args })).content[0]?.text
}

function namesOf(all: readonly Named[]): string[] {
  return all.map(({ name }) => name)
}

test.run()

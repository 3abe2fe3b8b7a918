// second tier: third party
import * as assert from 'uvu/assert'
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from 'caduceus/server'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { startParts } from './_servers.js'

const test = suite('server features with the official client')
const place = '@modelcontextprotocol/sdk'

/** What these tests use of the official client. */
interface OfficialClient {
  setRequestHandler(schema: unknown, fn: (request: { params: Record<string, unknown> }) => unknown): void
  setNotificationHandler(schema: unknown, fn: (news: { params: Record<string, unknown> }) => void): void
  callTool(params: object): Promise<{ content: { text: string }[]; isError?: boolean }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: object): Promise<{ contents: { text: string }[] }>
  subscribeResource(params: object): Promise<object>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  getPrompt(params: object): Promise<{ messages: { content: { text: string } }[] }>
  complete(params: object): Promise<{ completion: { values: string[] } }>
  setLoggingLevel(level: string): Promise<object>
  connect(transport: object): Promise<void>
  close(): Promise<void>
}

async function connect(
  t: TestContext,
  url: URL,
  prepare: (client: OfficialClient, types: Record<string, unknown>) => void,
) {
  const { Client } = await import(`${place}/client/index.js`)
  const { StreamableHTTPClientTransport } = await import(`${place}/client/streamableHttp.js`)
  const capabilities = { elicitation: {}, sampling: {}, roots: {} }
  const client: OfficialClient = new Client({ name: 'official', version: '1' }, { capabilities })
  prepare(client, await import(`${place}/types.js`))
  await client.connect(new StreamableHTTPClientTransport(url))
  t.after(() => client.close())
  return client
}

const asking = defineTool({
  name: 'asking',
  async run(_args, ctx) {
    const { content } = await ctx.elicit('who', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    })
    const message = { role: 'user' as const, content: { type: 'text' as const, text: String(content?.name) } }
    const { content: said } = await ctx.sample('greet', { messages: [message], maxTokens: 10 })
    const [root] = await ctx.roots('roots')
    ctx.log('warning', 'done')
    return `${Array.isArray(said) || said.type !== 'text' ? '' : said.text} in ${root?.uri}`
  },
})
const page = defineResource({ uri: 'x:page', name: 'page', read: () => 'a page' })
const file = defineResourceTemplate({
  uriTemplate: 'f:///{name}',
  name: 'file',
  read: ({ name }) => `file ${name}`,
  complete: { name: (value) => [`${value}.txt`] },
})
const greet = definePrompt({
  name: 'greet',
  arguments: [{ name: 'who', required: true }],
  get: ({ who }) => `Greet ${who}.`,
  complete: { who: () => ['Ada', 'Bob'] },
})

test('the official client uses questions, resources, prompts, logs and subscriptions', async (t) => {
  const { server } = await startParts(t, {
    tools: [asking],
    resources: [page],
    resourceTemplates: [file],
    prompts: [greet],
    logging: true,
  })
  const [logs, updates] = [heard<unknown>(), heard<unknown>()]
  const client = await connect(t, new URL(String(server.url)), (own, types) => {
    own.setRequestHandler(types.ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
    own.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => {
      const [message] = params.messages as { content: { text: string } }[]
      return {
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: `Hello ${message?.content.text}` },
      }
    })
    own.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///home' }] }))
    own.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => logs.add(params.data))
    own.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) =>
      updates.add(params.uri),
    )
  })
  await client.setLoggingLevel('warning')
  const { content } = await client.callTool({ name: 'asking' })
  assert.is(content[0]?.text, 'Hello Ada in file:///home')
  assert.is(await logs.next(), 'done')
  assert.equal(
    (await client.listResources()).resources.map(({ uri }) => uri),
    ['x:page'],
  )
  assert.is((await client.listResourceTemplates()).resourceTemplates[0]?.uriTemplate, 'f:///{name}')
  assert.is((await client.readResource({ uri: 'f:///a' })).contents[0]?.text, 'file a')
  assert.is((await client.listPrompts()).prompts[0]?.name, 'greet')
  const got = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })
  assert.is(got.messages[0]?.content.text, 'Greet Ada.')
  const whose = { ref: { type: 'ref/resource', uri: 'f:///{name}' }, argument: { name: 'name', value: 'a' } }
  assert.equal((await client.complete(whose)).completion.values, ['a.txt'])
  await client.subscribeResource({ uri: 'x:page' })
  await server.resourceUpdated('x:page')
  assert.is(await updates.next(), 'x:page')
})

test.run()

// second tier: third party
// time limit: 90 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('the official clients, from initialize to the end', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_official-program.js', import.meta.url))
const first = '@modelcontextprotocol/sdk'
const second = '@modelcontextprotocol/client'

type Kind = 'stdio' | 'http' | 'sse' | 'websocket'
type Handler = (message: { params: Record<string, unknown> }) => unknown
type CallOptions = { readonly signal?: AbortSignal; readonly onprogress?: (news: object) => void }

/** What these tests use of an official client, whichever version. */
interface Official {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  ping(): Promise<object>
  getServerVersion(): unknown
  getInstructions(): string | undefined
  getServerCapabilities(): object
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: object, ...rest: unknown[]): Promise<{ content: { text: string }[]; isError?: boolean }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: object): Promise<{ contents: { text: string }[] }>
  subscribeResource(params: object): Promise<object>
  unsubscribeResource(params: object): Promise<object>
  listPrompts(): Promise<{ prompts: { name: string }[] }>
  getPrompt(params: object): Promise<{ messages: { content: { text: string } }[] }>
  complete(params: object): Promise<{ completion: { values: string[] } }>
  setLoggingLevel(level: string): Promise<object>
  setRequestHandler(what: unknown, handler: Handler): void
  setNotificationHandler(what: unknown, handler: Handler): void
}

/** One version of the SDK: how it names things, and which transports it has. */
interface Version {
  readonly name: string
  make(capabilities: object): Promise<Official>
  /** What a handler of this method is registered under. */
  key(method: string): Promise<unknown>
  connect(kind: Kind, url: string): Promise<object>
  call(client: Official, name: string, options: CallOptions): Promise<{ content: { text: string }[] }>
}

const version1: Version = {
  name: 'SDK 1',
  async make(capabilities) {
    const { Client } = await import(`${first}/client/index.js`)
    return new Client({ name: 'official', version: '1' }, { capabilities })
  },
  async key(method) {
    const types = await import(`${first}/types.js`)
    return types[schemas[method] ?? '']
  },
  async connect(kind, url) {
    const [path = '', name = ''] = transports1[kind]
    const { [name]: Transport } = await import(`${first}/client/${path}`)
    return kind === 'stdio' ? new Transport(command) : new Transport(new URL(url))
  },
  call: (client, name, options) => client.callTool({ name }, undefined, options),
}

const version2: Version = {
  name: 'SDK 2',
  async make(capabilities) {
    const { Client } = await import(second)
    return new Client({ name: 'official', version: '2' }, { capabilities })
  },
  key: async (method) => method,
  async connect(kind, url) {
    const { StdioClientTransport } = await import(`${second}/stdio`)
    const { StreamableHTTPClientTransport, SSEClientTransport } = await import(second)
    if (kind === 'stdio') return new StdioClientTransport(command)
    return kind === 'http'
      ? new StreamableHTTPClientTransport(new URL(url))
      : new SSEClientTransport(new URL(url))
  },
  call: (client, name, options) => client.callTool({ name }, options),
}

const command = { command: process.execPath, args: [program, 'stdio'] }
const transports1: { readonly [Each in Kind]: readonly [path: string, name: string] } = {
  stdio: ['stdio.js', 'StdioClientTransport'],
  http: ['streamableHttp.js', 'StreamableHTTPClientTransport'],
  sse: ['sse.js', 'SSEClientTransport'],
  websocket: ['websocket.js', 'WebSocketClientTransport'],
}
const schemas: { readonly [method: string]: string } = {
  'elicitation/create': 'ElicitRequestSchema',
  'sampling/createMessage': 'CreateMessageRequestSchema',
  'roots/list': 'ListRootsRequestSchema',
  'notifications/message': 'LoggingMessageNotificationSchema',
  'notifications/resources/updated': 'ResourceUpdatedNotificationSchema',
  'notifications/tools/list_changed': 'ToolListChangedNotificationSchema',
}

for (const [version, kinds] of [
  [version1, ['stdio', 'http', 'sse', 'websocket']],
  [version2, ['stdio', 'http', 'sse']],
] as const) {
  for (const kind of kinds) {
    test(`${version.name} over ${kind}: every feature works`, (t) => talk(t, version, kind))
  }
}

async function talk(t: TestContext, version: Version, kind: Kind): Promise<void> {
  const url = kind === 'stdio' ? '' : await startProgram(t, kind)
  if (kind === 'websocket') giveWebSocket(t)
  const client = await version.make({ elicitation: {}, sampling: {}, roots: {} })
  const [logs, updates, changes] = [heard<unknown>(), heard<unknown>(), heard<void>()]
  const answer = async (method: string, handler: Handler) =>
    client.setRequestHandler(await version.key(method), handler)
  const hear = async (method: string, handler: Handler) =>
    client.setNotificationHandler(await version.key(method), handler)
  await answer('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
  await answer('sampling/createMessage', ({ params }) => {
    const [message] = params.messages as { content: { text: string } }[]
    const text = `Hello ${message?.content.text}`
    return { role: 'assistant', model: 'm', content: { type: 'text', text } }
  })
  await answer('roots/list', () => ({ roots: [{ uri: 'file:///home' }] }))
  await hear('notifications/message', ({ params }) => logs.add(params.data))
  await hear('notifications/resources/updated', ({ params }) => updates.add(params.uri))
  await hear('notifications/tools/list_changed', () => changes.add())
  await client.connect(await version.connect(kind, url))
  t.after(() => client.close())

  assert.equal(client.getServerVersion(), { name: 'official', version: '1.0.0' })
  assert.is(client.getInstructions(), 'Be kind.')
  await client.ping()
  const text = async (name: string, options: CallOptions = {}) =>
    (await version.call(client, name, options)).content[0]?.text
  assert.is(await text('count'), '1')
  assert.is(await text('count'), '2')
  const progress: object[] = []
  assert.is(await text('steps', { onprogress: (news) => progress.push(news) }), 'stepped')
  assert.equal(
    progress,
    [1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })),
  )
  await client.setLoggingLevel('warning')
  assert.is(await text('asking'), 'Hello Ada in file:///home')
  assert.is(await logs.next(), 'asked')

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
  assert.is(await text('grow'), 'grew')
  assert.is(await updates.next(), 'x:page')
  await changes.next()
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'grown'))
  assert.is(await text('grown'), 'grown')
  await client.unsubscribeResource({ uri: 'x:page' })

  const controller = new AbortController()
  const cancelled = text('wait', { signal: controller.signal, onprogress: () => controller.abort() })
  assert.is(await cancelled.catch(() => 'cancelled'), 'cancelled')
  while ((await text('aborted')) !== '1') await new Promise((resolve) => setImmediate(resolve))
  assert.is(await text('count'), '3')
}

async function startProgram(t: TestContext, kind: Kind): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [program, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [url] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
  return url
}

/** This version of Node has none of its own. */
function giveWebSocket(t: TestContext): void {
  const global = globalThis as { WebSocket?: unknown }
  const before = global.WebSocket
  global.WebSocket = WebSocket
  t.after(() => {
    global.WebSocket = before
  })
}

test.run()

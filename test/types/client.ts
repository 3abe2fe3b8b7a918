import {
  type Client,
  type Clients,
  clientSpec,
  type ClientState,
  findClient,
  type Phase,
  type ResourceResult,
  type ServerFacts,
  type Share,
  shareClients,
  shareSpec,
  startClient,
  startClientPool,
  startClients,
  type ToolResult,
  withClient,
} from 'caduceus/client'
import type {
  JsonObject,
  ListToolsResult,
  LoggingLevel,
  ResourceUpdatedParams,
  Tool,
} from 'caduceus/protocol'
import type { ChildSpec, Registry } from 'caduceus/runtime'
import {
  type ClientTransport,
  http,
  type Link,
  shared,
  type SharedClient,
  sharedClients,
  stdio,
} from 'caduceus/transports'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

function isTrue<_ extends true>(): void {}

export function transportsAndOptionsAreChecked(link: Link): void {
  startClient({ transport: stdio({ command: 'node', args: ['x.js'], stderr: (line) => line.trim() }) })
  startClient({
    transport: http(new URL('http://host/'), { headers: { authorization: 'x' } }),
    logger: false,
  })
  const own: ClientTransport = { name: 'own', connect: () => link }
  isTrue<Equal<ReturnType<typeof clientSpec>, ChildSpec>>()
  clientSpec({ transport: own, name: 'a', backoff: { base: 1 } })
  clientSpec({
    transport: own,
    era: 'auto',
    onElicit: ({ requestedSchema }) => ({
      action: 'accept',
      content: { fields: Object.keys(requestedSchema.properties) },
    }),
    onSample: {
      run: ({ maxTokens }) => ({
        role: 'assistant',
        content: { type: 'text', text: `${maxTokens}` },
        model: 'm',
      }),
      tools: true,
    },
    roots: () => [{ uri: 'file:///x' }],
  })
  // @ts-expect-error no such era
  clientSpec({ transport: own, era: 'newest' })
  // @ts-expect-error an answer has an action
  clientSpec({ transport: own, onElicit: () => ({}) })
  // @ts-expect-error a client needs a transport
  startClient({ name: 'x' })
  // @ts-expect-error the command is missing
  stdio({ args: [] })
  // @ts-expect-error no such option
  http('http://host/', { retries: 1 })
  // @ts-expect-error what belongs to a tree is not an option of an embedded client
  clientSpec({ transport: own, logger: false })
}

export async function callsAreInferred(client: Client): Promise<void> {
  const result = await client.callTool(
    'add',
    { a: 1 },
    { timeout: 1, onProgress: ({ progress }) => progress.toFixed() },
  )
  isTrue<Equal<typeof result, ToolResult>>()
  isTrue<Equal<typeof result.text, string>>()
  const page = await client.listTools({ cursor: '' })
  isTrue<Equal<typeof page, ListToolsResult>>()
  for await (const tool of client.tools({ maxPages: 3 })) isTrue<Equal<typeof tool, Tool>>()
  isTrue<Equal<ReturnType<typeof client.ping>, Promise<void>>>()
  for await (const { uriTemplate } of client.templates()) isTrue<Equal<typeof uriTemplate, string>>()
  const resource = await client.readResource('a:1', { fresh: true })
  isTrue<Equal<typeof resource, ResourceResult>>()
  await client.getPrompt('greet', { who: 'Ann' })
  // @ts-expect-error arguments of prompts are texts
  await client.getPrompt('greet', { who: 1 })
  // @ts-expect-error no such level
  await client.setLevel('loud')
  // @ts-expect-error no such word
  await client.callTool('add', {}, { retry: 'always' })
  // @ts-expect-error arguments are an object
  await client.callTool('add', 1)
  // @ts-expect-error no such option
  await client.ping({ retries: 3 })
}

export async function requestsAreInferredFromTheTable(client: Client): Promise<void> {
  const list = await client.request('tools/list')
  isTrue<Equal<typeof list, ListToolsResult>>()
  await client.request('tools/call', { name: 'x' }, { timeout: 1 })
  const own = await client.request('custom/method', { any: 1 })
  isTrue<Equal<typeof own, JsonObject>>()
  // @ts-expect-error the name is missing
  await client.request('tools/call', {})
  // @ts-expect-error params cannot be left out
  await client.request('tools/call')
  // @ts-expect-error the client does that itself
  await client.request('initialize', {
    protocolVersion: '',
    capabilities: {},
    clientInfo: { name: '', version: '' },
  })
  await client.notify('notifications/cancelled', { requestId: 1 })
  await client.notify('custom/news', { any: 1 })
  // @ts-expect-error a notification of servers
  await client.notify('notifications/message', { level: 'info', data: 1 })
}

export function notificationsAreInferred(client: Client): void {
  client.onNotification('notifications/message', (params) =>
    isTrue<Equal<typeof params.level, LoggingLevel>>(),
  )
  client.onNotification('custom/news', (params) => isTrue<Equal<typeof params, JsonObject>>())
  const off = client.onState((state) => isTrue<Equal<typeof state, ClientState>>())
  isTrue<Equal<ReturnType<typeof off>, void>>()
  isTrue<Equal<typeof client.state.phase, Phase>>()
  isTrue<Equal<typeof client.server, ServerFacts | undefined>>()
  isTrue<Equal<typeof client.closed, Promise<void>>>()
  const updates = client.notifications('notifications/resources/updated')
  isTrue<Equal<typeof updates, AsyncIterableIterator<ResourceUpdatedParams>>>()
  // @ts-expect-error a notification for servers
  client.onNotification('notifications/initialized', () => {})
}

export async function handlesAreDisposable(registry: Registry, transport: ClientTransport): Promise<void> {
  await using client = startClient({ transport })
  isTrue<Equal<typeof client, Client>>()
  const found = await findClient(registry, 'name')
  isTrue<Equal<typeof found, Client>>()
  const text = await withClient({ transport }, async (one) => (await one.callTool('x')).text)
  isTrue<Equal<typeof text, string>>()
}

export async function manyClientsAreTyped(transport: ClientTransport): Promise<void> {
  const mcpServers = {
    a: { command: 'x', args: ['y'] },
    b: { url: 'http://host/', type: 'sse' },
    c: { transport },
  }
  await using clients = await startClients(mcpServers, { required: ['a'], variables: process.env })
  const a = clients.get('a')
  isTrue<Equal<typeof a, Client>>()
  for (const [name, client] of clients) isTrue<Equal<[typeof name, typeof client], [string, Client]>>()
  // @ts-expect-error neither a command nor a url nor a transport
  await clients.add('d', { args: [] })
  // @ts-expect-error names, or all
  await startClients(mcpServers, { required: true })
  // @ts-expect-error each server has its own transport
  await startClients(mcpServers, { client: { transport } })
}

export async function poolsAreTyped(transport: ClientTransport): Promise<void> {
  await using pool = await startClientPool({ transport: () => transport, strategy: 'least_busy' })
  const result = await pool.callTool('x', {}, { timeout: 1 })
  isTrue<Equal<typeof result, ToolResult>>()
  const list = await pool.request('tools/list')
  isTrue<Equal<typeof list, ListToolsResult>>()
  using lease = await pool.checkout({ exclusive: false })
  isTrue<Equal<typeof lease.client, Client>>()
  const text = await pool.transaction(async (client) => (await client.callTool('x')).text)
  isTrue<Equal<typeof text, string>>()
  // @ts-expect-error no such strategy
  await startClientPool({ transport, strategy: 'fastest' })
  // @ts-expect-error the name is missing
  await pool.request('tools/call', {})
}

export async function sharesAreTyped(clients: Clients, client: Client, registry: Registry): Promise<void> {
  await using share = await shareClients(clients, {
    path: '/run/a',
    names: ['files'],
    limits: { connections: 10 },
  })
  isTrue<Equal<typeof share, Share>>()
  await shareClients([client], { path: '/run/b', logger: false })
  await shareClients(registry, { path: '/run/c' })
  isTrue<Equal<ReturnType<typeof shareSpec>, ChildSpec>>()
  startClient({ transport: shared('files', { path: '/run/a', waitForName: true }) })
  const [first] = await sharedClients({ path: '/run/a' })
  isTrue<Equal<typeof first, SharedClient | undefined>>()
  // @ts-expect-error the path is missing
  await shareClients(client, {})
  // @ts-expect-error the place is missing
  shared('files')
  // @ts-expect-error a tree of yours has its own registry
  shareSpec({ path: '/run/a', registry })
}

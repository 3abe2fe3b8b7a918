import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { closing, cut, cutAll, makeEventStore, sure, tell, text } from './_sdk-program.js'

// A server of the official SDK 1.x: node _sdk1-program.js stdio|sse|http|stateless. What it gets is named on standard error: `got tools/call`.
const [way] = process.argv.slice(2)
if (way === 'stdio') await connect(new StdioServerTransport())
else createServer(handler()).listen(Number(process.env.PORT))
process.stdin.on('end', () => process.exit())

async function connect(transport: Transport): Promise<void> {
  await makeServer().connect(transport)
  const { onmessage } = transport
  transport.onmessage = (message, extra) => {
    if ('method' in message) tell(`got ${message.method}`)
    onmessage?.(message, extra)
  }
}

function handler() {
  if (way === 'sse') return overSse()
  return way === 'stateless' ? withoutSessions : overHttp()
}

/** A server and a transport for each request, and JSON instead of event streams. */
async function withoutSessions(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  await connect(transport as Transport)
  await transport.handleRequest(request, response)
}

function overSse() {
  const transports = new Map<string, SSEServerTransport>()
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      return connect(transport)
    }
    const id = new URL(request.url ?? '', 'http://x').searchParams.get('sessionId') ?? ''
    const transport = transports.get(id)
    if (transport === undefined) response.writeHead(404).end()
    else await transport.handlePostMessage(request, response)
  }
}

function overHttp() {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/cut') return cutAll(response)
    closing(response)
    const id = request.headers['mcp-session-id']
    if (id !== undefined) {
      const transport = transports.get(String(id))
      if (transport === undefined) response.writeHead(404).end()
      else await transport.handleRequest(request, response)
      return
    }
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: makeEventStore(),
      onsessioninitialized: (session) => void transports.set(session, transport),
    })
    await connect(transport as Transport)
    await transport.handleRequest(request, response)
  }
}

function makeServer(): McpServer {
  const server = new McpServer(
    { name: 'sdk1', version: '1' },
    {
      capabilities: {
        logging: {},
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
      },
      instructions: 'Be kind.',
    },
  )
  const { server: inner } = server
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text))
  server.registerTool(
    'sum',
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  )
  server.registerTool('steps', {}, async ({ sendNotification, _meta }) => {
    const progressToken = _meta?.progressToken ?? ''
    for (const progress of [1, 2]) {
      const params = { progressToken, progress, total: 2, message: `step ${progress}` }
      await sendNotification({ method: 'notifications/progress', params })
    }
    return text('stepped')
  })
  server.registerTool('hang', {}, ({ signal }) => {
    tell('hangs')
    return new Promise(() => signal.addEventListener('abort', () => tell('aborted')))
  })
  server.registerTool('ask', { inputSchema: { kind: z.string() } }, async ({ kind }, { requestId }) => {
    const options = { relatedRequestId: requestId }
    const asking: Record<string, () => Promise<object>> = {
      form: () => inner.elicitInput({ message: 'Sure?', requestedSchema: sure }, options),
      url: () =>
        inner.elicitInput(
          { mode: 'url', message: 'Look', url: 'https://x.test/', elicitationId: '1' },
          options,
        ),
      sample: () =>
        inner.createMessage(
          { messages: [{ role: 'user', content: text('hi').content[0] }], maxTokens: 9 },
          options,
        ),
      roots: () => inner.listRoots(undefined, options),
    }
    return text(JSON.stringify(await asking[kind]?.()))
  })
  server.registerTool('cut', {}, async ({ sendNotification, _meta, sessionId }) => {
    const params = { progressToken: _meta?.progressToken ?? '', progress: 1 }
    await sendNotification({ method: 'notifications/progress', params })
    await server.sendLoggingMessage({ level: 'error', data: 'before the cut' }, sessionId)
    await cut
    await server.sendLoggingMessage({ level: 'error', data: 'while nobody listens' }, sessionId)
    return text('after the cut')
  })
  server.registerTool('change', {}, async ({ sessionId }) => {
    server.registerTool('late', {}, () => text('late'))
    await inner.sendResourceUpdated({ uri: 'x:page' })
    await server.sendLoggingMessage({ level: 'info', data: 'some' }, sessionId)
    await server.sendLoggingMessage({ level: 'error', data: 'more' }, sessionId)
    return text('changed')
  })
  server.registerResource('page', 'x:page', {}, () => ({ contents: [{ uri: 'x:page', text: 'a page' }] }))
  const template = new ResourceTemplate('f:///{name}', {
    list: undefined,
    complete: { name: (typed) => [`${typed}b`] },
  })
  server.registerResource('file', template, {}, ({ href }, { name }) => ({
    contents: [{ uri: href, text: `file ${name}` }],
  }))
  const who = completable(z.string(), (typed) => [`${typed}a`])
  server.registerPrompt('greet', { argsSchema: { who } }, (args) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${args.who}.` } }],
  }))
  inner.setRequestHandler(SubscribeRequestSchema, () => ({}))
  inner.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  return server
}

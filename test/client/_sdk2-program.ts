import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import {
  completable,
  createMcpHandler,
  type InputRequest,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type ServerNotifier,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { closing, cut, cutAll, makeEventStore, sure, tell, text } from './_sdk-program.js'

// A server of the official SDK 2.x, in both eras: node _sdk2-program.js stdio|http|stateless|modern. What it gets is named on standard error: `got tools/call`.
const changes = { late: false, notify: undefined as ServerNotifier | undefined }
const [way] = process.argv.slice(2)
if (way === 'stdio') overStdio()
else if (way === 'http') overHttp()
else createServer(withoutSessions(way === 'modern' ? 'reject' : 'stateless')).listen(Number(process.env.PORT))

function overStdio(): void {
  process.stdin.on('data', (chunk) => {
    for (const [, method] of String(chunk).matchAll(/"method":"([^"]+)"/g)) tell(`got ${method}`)
  })
  process.stdin.on('end', () => process.exit())
  serveStdio(makeServer)
}

/** Both eras at one address, neither with sessions, or the newer one alone. */
function withoutSessions(legacy: 'reject' | 'stateless') {
  const handle = toNodeHandler(createMcpHandler(makeServer, { legacy }))
  return (request: IncomingMessage, response: ServerResponse) =>
    void handle(request as Parameters<typeof handle>[0], response)
}

function overHttp(): void {
  const modern = createMcpHandler(makeServer, { legacy: 'reject' })
  changes.notify = modern.notify
  const handleModern = toNodeHandler(modern)
  const transports = new Map<string, NodeStreamableHTTPServerTransport>()
  const handleLegacy = async (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const id = request.headers['mcp-session-id']
    if (id !== undefined) {
      const known = transports.get(String(id))
      if (known === undefined) response.writeHead(404).end()
      else await known.handleRequest(request, response, body)
      return
    }
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: makeEventStore(),
      onsessioninitialized: (session) => void transports.set(session, transport),
    })
    await makeServer().connect(transport)
    await transport.handleRequest(request, response, body)
  }
  const server = createServer(async (request, response) => {
    if (request.url === '/cut') return cutAll(response)
    closing(response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
    if (body?.method !== undefined) tell(`got ${body.method}`)
    const isModern = request.headers['mcp-protocol-version'] === '2026-07-28'
    await (isModern
      ? handleModern(request as Parameters<typeof handleModern>[0], response, body)
      : handleLegacy(request, response, body))
  })
  server.listen(Number(process.env.PORT))
}

function makeServer(): McpServer {
  const server = new McpServer(
    { name: 'sdk2', version: '2' },
    {
      capabilities: {
        logging: {},
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
      },
      instructions: 'Be kind.',
    },
  )
  const nothing = z.object({})
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, (args) => text(args.text))
  server.registerTool(
    'sum',
    {
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  )
  server.registerTool('steps', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? ''
    for (const progress of [1, 2]) {
      const params = { progressToken, progress, total: 2, message: `step ${progress}` }
      await mcpReq.notify({ method: 'notifications/progress', params })
    }
    return text('stepped')
  })
  server.registerTool('hang', { inputSchema: nothing }, (_args, { mcpReq }) => {
    tell('hangs')
    return new Promise(() => mcpReq.signal.addEventListener('abort', () => tell('aborted')))
  })
  server.registerTool('ask', { inputSchema: z.object({ kind: z.string() }) }, ({ kind }, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.question
    if (answer !== undefined) return text(JSON.stringify(answer))
    const question = questions[kind]?.()
    return inputRequired({ inputRequests: question === undefined ? {} : { question } })
  })
  server.registerTool('cut', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    const params = { progressToken: mcpReq._meta?.progressToken ?? '', progress: 1 }
    await mcpReq.notify({ method: 'notifications/progress', params })
    await cut
    return text('after the cut')
  })
  server.registerTool('change', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    changes.late = true
    registerLate(server)
    await server.server.sendResourceUpdated({ uri: 'x:page' })
    changes.notify?.toolsChanged()
    changes.notify?.resourceUpdated('x:page')
    await mcpReq.log('info', 'some')
    await mcpReq.log('error', 'more')
    return text('changed')
  })
  if (changes.late) registerLate(server)
  server.registerResource('page', 'x:page', {}, () => ({ contents: [{ uri: 'x:page', text: 'a page' }] }))
  const template = new ResourceTemplate('f:///{name}', {
    list: undefined,
    complete: { name: (typed) => [`${typed}b`] },
  })
  server.registerResource('file', template, {}, ({ href }, { name }) => ({
    contents: [{ uri: href, text: `file ${name}` }],
  }))
  const who = completable(z.string(), (typed) => [`${typed}a`])
  server.registerPrompt('greet', { argsSchema: z.object({ who }) }, (args) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${args.who}.` } }],
  }))
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
  return server
}

function registerLate(server: McpServer): void {
  server.registerTool('late', { inputSchema: z.object({}) }, () => text('late'))
}

const questions: Record<string, () => InputRequest> = {
  form: () => inputRequired.elicit({ message: 'Sure?', requestedSchema: sure }),
  url: () => inputRequired.elicitUrl({ message: 'Look', url: 'https://x.test/' }),
  sample: () => {
    const content = { type: 'text', text: 'hi' } as const
    return inputRequired.createMessage({ messages: [{ role: 'user', content }], maxTokens: 9 })
  },
  roots: () => inputRequired.listRoots(),
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contender } from '../measure.js'
import { connectRaw } from './raw-client.js'
import { moreNames } from './more-tools.js'

interface Request {
  readonly id?: unknown
  readonly method: string
  readonly params: {
    readonly protocolVersion?: string
    readonly name?: string
    readonly arguments?: { readonly text: string }
  }
}

/** The limit: what Node's own primitives cost, written by hand. It believes everything it is told. */
export const contender: Contender = {
  async http() {
    const { randomUUID } = await import('node:crypto')
    const open = new Set<unknown>()
    return listen((message, request, response) => {
      const headers: Record<string, string | number> = { 'content-type': 'application/json' }
      if (message.method === 'initialize') {
        const session = randomUUID()
        open.add(session)
        headers['mcp-session-id'] = session
      } else if (!open.has(request.headers['mcp-session-id'])) return void response.writeHead(404).end()
      if (message.id === undefined) return void response.writeHead(202).end()
      const text = answer(message)
      headers['content-length'] = Buffer.byteLength(text)
      response.writeHead(200, headers).end(text)
    })
  },
  modern(more) {
    const tools = new Map([['echo', echo], ...moreNames(more).map((name) => [name, echo] as const)])
    return listen(({ id, params }, _request, response) => {
      const result = { resultType: 'complete', ...tools.get(params.name ?? '')?.(params) }
      const text = JSON.stringify({ jsonrpc: '2.0', id, result })
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      response.writeHead(200, headers).end(text)
    })
  },
  async stdio() {
    let rest = ''
    process.stdin.setEncoding('utf8')
    process.stdin.on('data', (chunk: string) => {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      let answers = ''
      for (const line of lines) {
        const message: Request = JSON.parse(line)
        if (message.id !== undefined) answers += `${answer(message)}\n`
      }
      if (answers !== '') process.stdout.write(answers)
    })
    process.stdin.on('end', () => process.exit())
  },
  client: connectRaw,
}

type Respond = (message: Request, request: IncomingMessage, response: ServerResponse) => void

/** Reads each body whole and hands over the message in it. */
async function listen(respond: Respond): Promise<number> {
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    // a client may ask for a stream, and end its session
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
      respond(JSON.parse(bytes.toString('utf8')), request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

function answer({ id, method, params }: Request): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: method === 'initialize' ? welcome(params) : echo(params),
  })
}

function welcome({ protocolVersion }: Request['params']) {
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1.0.0' } }
}

function echo({ arguments: args }: Request['params']) {
  return { content: [{ type: 'text', text: args?.text }] }
}

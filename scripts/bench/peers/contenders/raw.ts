import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contender } from '../measure.js'

interface Request {
  readonly id?: unknown
  readonly method: string
  readonly params: { readonly protocolVersion?: string; readonly arguments?: { readonly text: string } }
}

/** The limit: what Node's own primitives cost, written by hand. It believes everything it is told. */
export const contender: Contender = {
  async http() {
    const [{ createServer }, { randomUUID }] = await Promise.all([import('node:http'), import('node:crypto')])
    const open = new Set<unknown>()
    const respond = (bytes: Buffer, request: IncomingMessage, response: ServerResponse): void => {
      const message: Request = JSON.parse(bytes.toString('utf8'))
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
    }
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () =>
        respond(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), request, response),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
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

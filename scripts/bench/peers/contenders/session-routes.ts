import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a transport of either SDK has, as far as its sessions are kept by hand. */
export interface SessionTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void>
}

/** Makes the transport of a new session, with its server connected; `opened` is told the id that it takes. */
export type OpenSession = (opened: (id: string) => void) => Promise<SessionTransport>

/** Serves sessions the way the SDK's documentation does: a transport for each, found by its header. Resolves with the port. */
export async function serveSessions(open: OpenSession): Promise<number> {
  const transports = new Map<unknown, SessionTransport>()
  const take = async (request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> => {
    const id = request.headers['mcp-session-id']
    const known = transports.get(id)
    if (known !== undefined) return known.handleRequest(request, response, body)
    if (id !== undefined) return void response.writeHead(404).end()
    const transport = await open((taken) => transports.set(taken, transport))
    await transport.handleRequest(request, response, body)
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => void take(request, response, JSON.parse(Buffer.concat(chunks).toString('utf8'))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

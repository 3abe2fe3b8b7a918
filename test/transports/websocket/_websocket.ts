import { WebSocket } from 'ws'
import type { Server } from 'caduceus/server'
import { serveWebSocket, type WebSocketServeOptions } from 'caduceus/transports'
import { initialize, type Wire } from '../../server/_client.js'
import { type Heard, heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'
import { startSuiteServer } from '../_suite-server.js'

/** Starts a server whose WebSockets a test talks to by hand. */
export async function listen(t: TestContext, options: WebSocketServeOptions = {}): Promise<Server> {
  const server = await startSuiteServer(serveWebSocket(options))
  t.after(() => server.stop())
  return server
}

/** A socket and what it heard; `closed` is the code it was closed with. */
export type RawSocket = {
  readonly socket: WebSocket
  readonly messages: Heard<Wire>
  readonly closed: Promise<number>
}

/** A socket that is open, without a session. */
export async function open(
  t: TestContext,
  server: { readonly url: string | undefined },
  options: object = {},
): Promise<RawSocket> {
  const socket = new WebSocket(String(server.url), ['mcp'], options)
  const messages = heard<Wire>()
  socket.on('error', () => {})
  socket.on('message', (data: Buffer) => messages.add(JSON.parse(data.toString())))
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  t.after(() => {
    socket.terminate()
    return closed
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  return { socket, messages, closed }
}

/** Opens a session. */
export async function greet({ socket, messages }: RawSocket, revision?: string): Promise<void> {
  socket.send(JSON.stringify(initialize('raw', revision)))
  await messages.next(({ id }) => id === 'init')
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
}

/** The status that an upgrade is answered with. */
export function upgrade(
  server: Server,
  headers: Record<string, string>,
  path = '/mcp',
  protocols = ['mcp'],
): Promise<number> {
  return upgradeAnswer(server, headers, path, protocols).then(({ status }) => status)
}

/** The same, with the challenge of a refusal. */
export function upgradeAnswer(
  server: Server,
  headers: Record<string, string>,
  path = '/mcp',
  protocols = ['mcp'],
): Promise<{ readonly status: number; readonly challenge: string | null }> {
  const url = new URL(path, server.url)
  const socket = new WebSocket(url, protocols, { headers })
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.once('unexpected-response', (request, response) => {
      const { statusCode, headers: told } = response
      resolve({ status: Number(statusCode), challenge: told['www-authenticate'] ?? null })
      request.destroy()
    })
    socket.once('open', () => {
      socket.terminate()
      resolve({ status: 101, challenge: null })
    })
  })
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

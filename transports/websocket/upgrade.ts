import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { type ByteAccount, ByteBudget } from '../connections/byte-budget.js'
import { bindConnections, type Connections } from '../connections/connections.js'
import type { LinkScope } from '../contract/contract.js'
import { isKeptOut } from '../contract/events.js'
import type { SharedConnections } from '../contract/sharing.js'
import { framingProblem } from '../http/listen/guard.js'
import { every, type Gate, type GatePlan, openGate } from '../http/listen/gate.js'
import { socketLimits, WebSocketConnection } from './connection.js'
import type { WebSocketServeSettings } from './serve.js'
import { pathOf } from '../base/target.js'

/**
 * Takes a port, or the connections of `source`, and turns the upgrades on it into connections. Rejects with
 * TransportError LISTEN_FAILED.
 */
export async function bindWebSockets(
  settings: WebSocketServeSettings,
  scope: LinkScope,
  source?: SharedConnections,
): Promise<Connections> {
  const plan: GatePlan = {
    transport: 'websocket',
    paths: [settings.path],
    problem: () => connections.problem,
    onRequest(request, response) {
      const problem = gate.check(request)
      const status = problem === undefined ? 426 : 403
      if (problem !== undefined) gate.noteRefused(request, status, problem)
      response.writeHead(status, { 'content-length': '0', connection: 'close', upgrade: 'websocket' }).end()
    },
    onUpgrade,
  }
  const gate = await openGate(settings, scope, plan, source)
  const sockets = new Set<WebSocketConnection>()
  // released after the connections have been told to close
  scope.own(() => Promise.all([...sockets].map((socket) => socket.closed)).then(() => {}))
  const { limits, timeouts, drainDelay, pingInterval } = settings
  const budget = new ByteBudget(limits)
  const { messageBytes } = limits
  const sizes = {
    maxBufferedBytes: limits.bufferedBytes,
    maxMessageBytes: messageBytes,
    timeout: pingInterval,
  }
  const connections = bindConnections(scope, {
    describe: () => budget.describe(),
    url: gate.server.url('ws', settings.path),
    port: gate.server.port,
    stopListening: () => gate.server.stopListening(),
    maxConnections: limits.connections,
    openTimeout: timeouts.open,
    drainDelay,
  })
  const upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    handleProtocols: () => 'mcp',
    WebSocket: tellingSocket(messageBytes),
    ...socketLimits(messageBytes),
  })
  async function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const status = judge(request, gate, settings)
    const refuse = (why: number, headers?: Readonly<Record<string, string>>): void => {
      if (isKeptOut(why)) gate.noteRefused(request, why, why === 403 ? gate.check(request) : undefined)
      turnAway(socket, why, headers)
    }
    if (status !== 101) return refuse(status)
    const peer = await gate.identify(request)
    if ('denial' in peer) return turnAway(socket, peer.denial.status, peer.denial.headers)
    if (socket.destroyed) return
    if (!gate.server.isListening) return refuse(503)
    socket.once('close', () => gate.leave(socket))
    if (!gate.enter(peer, socket)) return refuse(429, { 'retry-after': '10' })
    upgrades.handleUpgrade(request, socket, head, (upgraded) => {
      const limits = { ...sizes, account: budget.account(peer) }
      const connection = new WebSocketConnection(upgraded, socket as Socket, peer, limits, scope)
      sockets.add(connection)
      upgraded.once('close', () => sockets.delete(connection))
      countUnread(socket, upgraded, budget.account(peer))
      connection.tell(connections.accept(connection), gate.watch(request, peer))
    })
  }

  every(pingInterval, scope, () => {
    for (const socket of sockets) socket.beat()
  })
  return connections
}

/** ws closes with the bare code for a message that is too long. */
function tellingSocket(messageBytes: number): typeof WebSocket {
  const reason = `a message may have ${messageBytes} bytes (limits.messageBytes)`
  return class extends WebSocket {
    override close(code?: number, data?: string | Buffer): void {
      super.close(code, data ?? (code === 1009 ? reason : undefined))
    }
  }
}

/** Bytes of a control frame of a client besides what it carries (RFC 6455, section 5.2). */
const controlHeader = 6

/** Counts what came of a message that is not whole, which ws keeps. Pings may come in between, for ever. */
function countUnread(socket: Duplex, upgraded: WebSocket, bytes: ByteAccount): void {
  let isWhole = false
  let unread = 0
  upgraded.on('message', () => {
    isWhole = true
  })
  const forget = ({ length }: Buffer): void => {
    unread -= controlHeader + length
  }
  upgraded.on('ping', forget).on('pong', forget)
  // after ws, which has taken what it could of the chunk by then
  socket.on('data', (chunk: Buffer) => {
    unread = isWhole ? 0 : Math.max(0, unread + chunk.length)
    isWhole = false
    if (bytes.set(unread) !== undefined) upgraded.close(1013, 'too many bytes are pending')
  })
  upgraded.once('close', () => bytes.release())
}

/** The status that an upgrade is answered with; 101 lets it in. */
function judge(request: IncomingMessage, gate: Gate, { path }: WebSocketServeSettings): number {
  const framing = framingProblem(request)
  if (framing !== undefined) return framing.status
  if (gate.check(request) !== undefined) return 403
  if (!gate.server.isListening) return 503
  if (pathOf(request.url) !== path) return 404
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
  return offered.some((name) => name.trim() === 'mcp') ? 101 : 400
}

function turnAway(socket: Duplex, status: number, headers: Readonly<Record<string, string>> = {}): void {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-length: 0',
    ...more,
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n`, () => socket.destroy())
}

import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { currentProgram, type Program } from '../world/program.js'
import type { Network } from './network.js'

/**
 * Every `net.connect` and `listen` of this process is on the simulated network until the undo: also those of
 * node:http, undici and ws.
 */
export function takeSockets(network: Network): () => void {
  const { connect, createConnection } = net
  const { listen } = net.Server.prototype
  const dial = (...args: unknown[]): unknown => {
    const { host, port, allowHalfOpen = false } = args[0] as net.TcpNetConnectOpts
    const socket = network.connect(programNow('dials'), host ?? '127.0.0.1', Number(port), allowHalfOpen)
    const last = args.at(-1)
    if (typeof last === 'function') socket.once('connect', last as () => void)
    return socket
  }
  net.connect = dial as typeof net.connect
  net.createConnection = dial as typeof net.createConnection
  const { createConnection: dialOfAgents } = http.Agent.prototype as unknown as Dialling
  Object.assign(http.Agent.prototype, { createConnection: dial })
  net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]) {
    return listenOn(network, this, args)
  } as typeof listen
  const { closeAllConnections, closeIdleConnections } = http.Server.prototype
  http.Server.prototype.closeAllConnections = function (this: http.Server) {
    for (const socket of network.socketsOn(this)) socket.destroy()
  }
  http.Server.prototype.closeIdleConnections = function (this: http.Server) {
    const idle = idleOn(this)
    for (const socket of network.socketsOn(this)) if (idle.has(socket)) socket.destroy()
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(http.Server.prototype, { closeAllConnections, closeIdleConnections })
    Object.assign(http.Agent.prototype, { createConnection: dialOfAgents })
    net.connect = connect
    net.createConnection = createConnection
    net.Server.prototype.listen = listen
    syncBuiltinESMExports()
  }
}

/** What agents took from node:net as they were loaded. */
interface Dialling {
  readonly createConnection: unknown
}

function listenOn(network: Network, server: net.Server, args: unknown[]): net.Server {
  const program = programNow('listens')
  const { host = program.address, port = 0 } = args[0] as net.ListenOptions
  const last = args.at(-1)
  if (typeof last === 'function') server.once('listening', last as () => void)
  const place = port === 0 ? network.freePort() : port
  const close = network.listen({ program, server }, host, place)
  program.soon('listens', () => {
    if (close !== undefined) return void server.emit('listening')
    const error = new Error(`listen EADDRINUSE: address already in use ${host}:${place}`)
    server.emit('error', Object.assign(error, { code: 'EADDRINUSE' }))
  })
  if (close === undefined) return server
  // node:http would look for slow connections by the real clock
  Object.assign(server, { connectionsCheckingInterval: 2 ** 31 - 1 })
  const most = network.requests.get(program.address)
  if (most !== undefined) Object.assign(server, { maxRequestsPerSocket: most })
  const handle = {
    close,
    ref() {},
    unref() {},
    getsockname(out: Record<string, unknown>) {
      Object.assign(out, { address: host, port: place, family: 'IPv4' })
      return 0
    },
  }
  Object.assign(server, { _handle: handle })
  return server
}

/** Node sorts its connections by their addresses in memory: the order is not its to say, which are idle is. */
function idleOn(server: http.Server): ReadonlySet<unknown> {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connections',
  )
  const list =
    key && (server as unknown as Record<symbol, { idle(): { readonly socket: unknown }[] } | undefined>)[key]
  return new Set(list?.idle().map(({ socket }) => socket))
}

function programNow(what: string): Program {
  const program = currentProgram()
  if (program === undefined) throw new Error(`nobody knows which program ${what}`)
  return program
}

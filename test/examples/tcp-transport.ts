// MCP over plain TCP, one message a line: a transport written against the types of 'caduceus/transports' alone.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import {
  type Accepted,
  bindConnections,
  type ClientTransport,
  type ServerTransport,
  TransportError,
} from 'caduceus/transports'

const maxQueuedBytes = 8 * 1024 * 1024

/** Connects to a server that listens with `serveTcp`. */
export function tcp({ host = '127.0.0.1', port }: { host?: string; port: number }): ClientTransport {
  return {
    name: `tcp ${host}:${port}`,
    connect(events, scope) {
      const socket = connect({ host, port, noDelay: true })
      scope.own(() => void socket.destroy())
      let failure: Error | undefined
      let asked = false
      socket.on('connect', () => events.opened({ address: `${host}:${port}` }))
      socket.on('error', (error) => {
        failure = error
      })
      socket.on('close', () => events.closed(asked ? {} : { error: lost(failure) }))
      readLines(socket, (line) => events.message(line))
      return {
        send(text) {
          // what is thrown here is told to the caller of this one request
          if (socket.writableLength > maxQueuedBytes)
            throw new TransportError('SEND_FAILED', 'the server does not read')
          socket.write(`${text}\n`)
        },
        close() {
          asked = true
          socket.end()
          scope.clock.setTimeout(() => void socket.destroy(), 1_000)
        },
      }
    },
  }
}

/** Listens on a port of this machine; every connection is a session. */
export function serveTcp({ port = 0 }: { port?: number } = {}): ServerTransport {
  return {
    name: 'tcp',
    async bind(scope, previous) {
      const listener = createServer({ noDelay: true })
      scope.own(() => void listener.close())
      const taken = await listen(listener, previous?.port ?? port)
      const connections = bindConnections(scope, {
        url: `tcp://127.0.0.1:${taken}`,
        port: taken,
        stopListening: () => void listener.close(),
      })
      listener.on(
        'connection',
        scope.bind((socket: Socket) => take(socket, (connection) => connections.accept(connection))),
      )
      return connections
    },
  }
}

function take(socket: Socket, accept: ReturnType<typeof bindConnections>['accept']): void {
  socket.on('error', () => {}) // `close` follows
  const accepted = accept({
    peer: { transport: 'tcp', headers: {}, remoteAddress: socket.remoteAddress },
    get isStalled() {
      return socket.writableLength > maxQueuedBytes / 8
    },
    send(text) {
      if (socket.writableLength > maxQueuedBytes) socket.destroy()
      else if (socket.writable) socket.write(`${text}\n`)
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => socket.destroySoon(),
  })
  serveLines(socket, accepted)
}

function serveLines(socket: Socket, accepted: Accepted): void {
  socket.on('close', () => accepted.closed())
  readLines(socket, (line) => {
    if (!accepted.message(line)) socket.destroy()
  })
}

/** Whole lines, of four million characters at most. */
function readLines(socket: Socket, take: (line: string) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') take(line)
    if (rest.length > 4 * 1024 * 1024) socket.destroy()
  })
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new TransportError('LISTEN_FAILED', `cannot listen on port ${port}: ${cause.message}`, { cause }),
      ),
    )
    server.listen({ host: '127.0.0.1', port }, () => resolve((server.address() as AddressInfo).port))
  })
}

function lost(cause: Error | undefined): TransportError {
  const code = cause === undefined ? 'CONNECTION_LOST' : 'CONNECT_FAILED'
  return new TransportError(code, cause?.message ?? 'the server closed the connection', {
    cause,
    retryable: true,
  })
}

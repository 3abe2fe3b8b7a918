import type { Server } from 'node:net'
import { noteConnection } from '../../../runtime/time/loop-share.js'
import { TransportError } from '../../base/errors.js'
import type { LinkScope } from '../../contract/contract.js'

interface ListenAddress {
  readonly port: number
  readonly host: string
}

/** Makes a server listen, and answers at which port. Rejects with TransportError LISTEN_FAILED. */
export async function listen(server: Server, place: ListenAddress, scope: LinkScope): Promise<number> {
  await begin(server, place)
  // a connection that could not be accepted ends nothing; the scope reports it
  const failed = scope.bind((error: Error) => {
    throw error
  })
  server.on('error', failed).on('connection', noteConnection)
  scope.own(() => void server.off('error', failed).off('connection', noteConnection))
  return portOf(server)
}

export function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** The address as clients on this machine or beyond it write it. */
export function urlOf(
  scheme: string,
  { host, port }: ListenAddress,
  { allowedHosts, path }: { readonly allowedHosts: readonly string[]; readonly path: string },
): string {
  const isAny = host === '0.0.0.0' || host === '::'
  const named = allowedHosts.find((name) => name !== '*') ?? '127.0.0.1'
  const shown = isAny ? named.replace(/:\d+$/, '') : host
  const inUrl = shown.includes(':') && !shown.startsWith('[') ? `[${shown}]` : shown
  return `${scheme}://${inUrl}:${port}${path}`
}

function begin(server: Server, { port, host }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const why =
        cause.code === 'EADDRINUSE'
          ? 'the port is in use: take another port, or 0 for a free one'
          : cause.message
      const data = { host, port, code: cause.code }
      const message = `cannot listen on ${host} port ${port}: ${why}`
      reject(new TransportError('LISTEN_FAILED', message, { cause, data }))
    }
    server.once('error', failed)
    server.listen({ port, host }, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

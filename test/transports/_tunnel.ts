import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Heard, heard } from '../support/heard.js'
import type { TestContext } from '../support/suite.js'
import { end } from './_http.js'

/** A proxy, and what it was asked for. */
export type Tunnel = {
  readonly url: string
  readonly asked: Heard<{ readonly authority: string; readonly credentials: string | undefined }>
}

/** Starts a proxy that tunnels every connection to the port that was asked for, or to the one that `target` says, on this machine. */
export async function startTunnel(
  t: Pick<TestContext, 'after'>,
  target = (authority: string) => Number(authority.split(':').at(-1)),
): Promise<Tunnel> {
  const asked: Tunnel['asked'] = heard()
  const server = createServer((_, response) => response.writeHead(405).end())
  const open = new Set<Duplex>()
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    const authority = request.url ?? ''
    asked.add({ authority, credentials: request.headers['proxy-authorization'] })
    const upstream = connect(target(authority), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    return end(server)
  })
  return { url: `http://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

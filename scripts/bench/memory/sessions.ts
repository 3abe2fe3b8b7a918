import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { AskedProgram } from '../asked-program.js'
import { type Connection, headerOf, messageOf, openConnection, post, postHead } from '../peers/connection.js'
import { checkInitialize, initialize, initialized } from '../peers/messages.js'
import type { Memory } from './heap.js'

export const revision = '2025-11-25'
/** Connections that open sessions at once. */
const lanes = 64

/** Bytes that a session costs: alone, with its open stream, and when its client is gone without a word. */
export interface SessionCost {
  readonly idle: number
  readonly streaming: number
  readonly vanished: number
}

/** What each of so many sessions costs a server, whose clients are this program. */
export async function costOfSession(
  server: AskedProgram,
  sessions: number,
  snapshot: (what: string) => Promise<void> = async () => {},
): Promise<SessionCost> {
  const port = await server.ask<number>('port')
  // what is made once, and grows with the first sessions, is no session's
  await vanish(server, await stream(port, await open(port, 200)))
  const before = await server.ask<Memory>('memory')
  await snapshot('before')
  const opened = await open(port, sessions)
  const idle = await server.ask<Memory>('memory')
  const streams = await stream(port, opened)
  const streaming = await server.ask<Memory>('memory')
  await snapshot('streaming')
  await vanish(server, streams)
  const vanished = await server.ask<Memory>('memory')
  await snapshot('vanished')
  const each = ({ heap }: Memory): number => (heap - before.heap) / sessions
  return { idle: each(idle), streaming: each(streaming), vanished: each(vanished) }
}

export async function open(port: number, count: number): Promise<string[]> {
  const ids: string[] = []
  let left = count
  const lane = async (): Promise<void> => {
    const connection = await openConnection(port)
    while (left-- > 0) ids.push(await openOne(port, connection))
    connection.close()
  }
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane))
  return ids
}

async function openOne(port: number, connection: Connection): Promise<string> {
  const opened = await connection.ask(post(postHead(port), initialize))
  checkInitialize(messageOf(opened))
  const id = String(headerOf(opened, 'mcp-session-id'))
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision }
  const { status } = await connection.ask(post(postHead(port, headers), initialized))
  if (status !== 202) throw new Error(`notifications/initialized: got status ${status}`)
  return id
}

async function stream(port: number, ids: readonly string[]): Promise<Socket[]> {
  const streams: Socket[] = []
  for (let at = 0; at < ids.length; at += lanes)
    streams.push(...(await Promise.all(ids.slice(at, at + lanes).map((id) => streamOne(port, id)))))
  return streams
}

function streamOne(port: number, id: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', reject)
    socket.once('data', (bytes) => {
      const head = bytes.toString('latin1')
      if (head.startsWith('HTTP/1.1 200')) resolve(socket)
      else reject(new Error(`GET: got ${head.slice(0, 300)}`))
      socket.resume()
    })
    socket.write(
      `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\nmcp-session-id: ${id}\r\nmcp-protocol-version: ${revision}\r\n\r\n`,
    )
  })
}

/** Ends the connections as a client does that is killed. */
async function vanish(server: AskedProgram, streams: readonly Socket[]): Promise<void> {
  for (const socket of streams) socket.destroy()
  for (let left = 1; left > 0; left = await server.ask<number>('connections')) await pause(50)
}

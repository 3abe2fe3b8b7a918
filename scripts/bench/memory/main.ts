import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AskedProgram } from '../asked-program.js'
import { type Connection, headerOf, messageOf, openConnection, post, postHead } from '../peers/connection.js'
import { checkInitialize, initialize, initialized } from '../peers/messages.js'
import type { Memory } from './heap.js'

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '2000' },
    tools: { type: 'string', default: '1' },
    only: { type: 'string', default: 'bare,ours' },
    snapshot: { type: 'string' },
  },
})
const sessions = Number(values.sessions)
const revision = '2025-11-25'
/** Connections that open sessions at once. */
const lanes = 64

/** What a session costs the server, in KiB of the heap and what hangs on it; the clients are this program. */
async function main(): Promise<void> {
  const programs = { bare: ['./bare.js'], ours: ['./ours.js', values.tools, '{}'] }
  for (const [name, [url = '', ...args]] of Object.entries(programs)) {
    if (!values.only.split(',').includes(name)) continue
    const server = new AskedProgram(new URL(url, import.meta.url), ...args)
    try {
      await measure(name, server)
    } finally {
      server.end()
    }
  }
}

await main()

async function measure(name: string, server: AskedProgram): Promise<void> {
  const port = await server.ask<number>('port')
  // what is made once, and grows with the first sessions, is no session's
  await vanish(server, await stream(port, await open(port, 200)))
  const before = await server.ask<Memory>('memory')
  await snapshot(server, `${name}-before`)
  const opened = await open(port, sessions)
  const idle = await server.ask<Memory>('memory')
  const streams = await stream(port, opened)
  const streaming = await server.ask<Memory>('memory')
  await snapshot(server, `${name}-streaming`)
  await vanish(server, streams)
  const vanished = await server.ask<Memory>('memory')
  await snapshot(server, `${name}-vanished`)
  const each = ({ heap }: Memory): string => ((heap - before.heap) / sessions / 1_024).toFixed(2)
  console.log(
    `${name.padEnd(6)} idle ${each(idle)}, with a stream ${each(streaming)}, its client gone ${each(vanished)} KiB`,
  )
}

async function snapshot(server: AskedProgram, what: string): Promise<void> {
  if (values.snapshot === undefined) return
  await server.ask('snapshot', { file: `${values.snapshot}/${what}.heapsnapshot` })
}

async function open(port: number, count: number): Promise<string[]> {
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

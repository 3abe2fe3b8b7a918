import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AskedProgram } from '../asked-program.js'
import { median } from '../measure.js'
import { type Connection, headerOf, messageOf, openConnection, post, postHead } from '../peers/connection.js'
import { checkInitialize, initialize, initialized } from '../peers/messages.js'
import type { Memory } from './heap.js'

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '2000' },
    tools: { type: 'string', default: '1' },
    hibernated: { type: 'string' },
    only: { type: 'string', default: 'bare,ours' },
    snapshot: { type: 'string' },
  },
})
const sessions = Number(values.sessions)
const revision = '2025-11-25'
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
/** Connections that open sessions at once. */
const lanes = 64

/** What a session costs the server, in KiB of the heap and what hangs on it; the clients are this program. */
async function main(): Promise<void> {
  if (values.hibernated !== undefined) return hibernate(Number(values.hibernated))
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

/** So many sessions that hibernate; some of them are woken at the end. */
async function hibernate(count: number): Promise<void> {
  const timeouts = JSON.stringify({ hibernateAfter: 500, idle: 24 * 3_600_000 })
  const server = new AskedProgram(new URL('./ours.js', import.meta.url), values.tools, timeouts)
  try {
    const port = await server.ask<number>('port')
    await asleep(server, (await open(port, 200)).length)
    const before = await server.ask<Memory>('memory')
    const since = performance.now()
    const ids = await open(port, count)
    await asleep(server, count + 200)
    const seconds = (performance.now() - since) / 1_000
    const after = await server.ask<Memory>('memory')
    await snapshot(server, 'hibernated')
    const each = (after.heap - before.heap) / count / 1_024
    console.log(`${count} hibernate after ${seconds.toFixed(0)} s: ${each.toFixed(2)} KiB of heap each`)
    console.log(`the whole program has ${mib(after.resident)} MiB, and had ${mib(before.resident)}`)
    const some = ids.filter((_, at) => at % Math.ceil(count / 1_000) === 0)
    const { first, second } = await wake(port, some)
    console.log(
      `a ping takes ${median(first).toFixed(2)} ms where it wakes one, the next ${median(second).toFixed(2)} ms`,
    )
  } finally {
    server.end()
  }
}

async function asleep(server: AskedProgram, count: number): Promise<void> {
  while ((await server.ask<number>('asleep')) < count) await pause(100)
}

/** Milliseconds that two pings take in each of these sessions, one after the other. */
async function wake(port: number, ids: readonly string[]): Promise<{ first: number[]; second: number[] }> {
  const connection = await openConnection(port)
  const times = { first: [] as number[], second: [] as number[] }
  for (const id of ids)
    for (const which of ['first', 'second'] as const) {
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': revision }
      const since = performance.now()
      const { status } = await connection.ask(post(postHead(port, headers), ping))
      if (status !== 200) throw new Error(`ping: got status ${status}`)
      times[which].push(performance.now() - since)
    }
  connection.close()
  return times
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
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

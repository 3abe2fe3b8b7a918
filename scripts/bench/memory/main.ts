import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AskedProgram } from '../asked-program.js'
import { median } from '../measure.js'
import { openConnection, post, postHead } from '../peers/connection.js'
import type { Memory } from './heap.js'
import { costOfSession, open, revision } from './sessions.js'

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
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** What a session costs the server, in KiB of the heap and what hangs on it; the clients are this program. */
async function main(): Promise<void> {
  if (values.hibernated !== undefined) return hibernate(Number(values.hibernated))
  const programs = { bare: ['./bare.js'], ours: ['./ours.js', values.tools, '{}'] }
  for (const [name, [url = '', ...args]] of Object.entries(programs)) {
    if (!values.only.split(',').includes(name)) continue
    const server = new AskedProgram(new URL(url, import.meta.url), ...args)
    try {
      const { idle, streaming, vanished } = await costOfSession(server, sessions, (what) =>
        snapshot(server, `${name}-${what}`),
      )
      const kib = (bytes: number): string => (bytes / 1_024).toFixed(2)
      console.log(
        `${name.padEnd(6)} idle ${kib(idle)}, with a stream ${kib(streaming)}, its client gone ${kib(vanished)} KiB`,
      )
    } finally {
      server.end()
    }
  }
}

await main()

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

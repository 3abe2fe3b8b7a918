import {
  type Connection,
  type HttpAnswer,
  headerOf,
  messageOf,
  openConnection,
  post,
  postHead,
} from '../peers/connection.js'
import { checkInitialize, initialize, initialized } from '../peers/messages.js'
import { answer } from '../asked-program.js'
import { EventLane } from '../gateway/event-lane.js'

export interface Drive {
  readonly name: string
  /** The tool, and what it is given. */
  readonly call: object
  readonly ms: number
  /** How many of the sessions call at the same time. */
  readonly lanes: number
}

export interface Driven {
  readonly calls: number
  readonly seconds: number
  /** Milliseconds of a call. */
  readonly median: number
  readonly p99: number
}

/** A session, and where it is used. */
interface Lane {
  readonly head: string
  readonly port: number
}

const sides = new Map<string, (Lane | EventLane)[]>()

/** Opens sessions, and calls tools in them, each call after the answer to the one before; checks every answer. */
answer({
  /** Sessions that are opened at one port, and used at another. */
  async open({ name, at, to, sessions }: { name: string; at: number; to: number; sessions: number }) {
    const lanes = await Promise.all(Array.from({ length: sessions }, () => openLane(at, to)))
    sides.set(name, lanes)
  },
  /** Sessions over HTTP+SSE. */
  async openEvents({ name, port, sessions }: { name: string; port: number; sessions: number }) {
    const lanes = await Promise.all(Array.from({ length: sessions }, () => EventLane.open(port)))
    sides.set(name, lanes)
  },
  /** Sessions that are not used any more. */
  async fill({ port, sessions }: { port: number; sessions: number }) {
    const connection = await openConnection(port)
    for (let opened = 0; opened < sessions; opened += 1) await openSession(connection, port)
    connection.close()
  },
  async drive({ name, call, ms, lanes }: Drive): Promise<Driven> {
    const times: number[] = []
    const used = (sides.get(name) ?? []).slice(0, lanes)
    // not kept from one time to the next: servers close connections on which nothing comes for a while
    const connected = await Promise.all(
      used.map(async (lane) => {
        if (!(lane instanceof EventLane)) return { lane, connection: await openConnection(lane.port) }
        return { lane, connection: await lane.connect() }
      }),
    )
    const since = performance.now()
    await Promise.all(
      connected.map(async ({ lane, connection }) => {
        while (performance.now() < since + ms) {
          const asked = performance.now()
          if (lane instanceof EventLane) checkText(await lane.ask(connection, bodyOf(call)))
          else check(await connection.ask(post(lane.head, bodyOf(call))))
          times.push(performance.now() - asked)
        }
        connection.close()
      }),
    )
    const seconds = (performance.now() - since) / 1_000
    times.sort((one, other) => one - other)
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
    return { calls: times.length, seconds, median: at(0.5), p99: at(0.99) }
  },
})

async function openLane(at: number, to: number): Promise<Lane> {
  const connection = await openConnection(at)
  const session = await openSession(connection, at)
  connection.close()
  return { head: headFor(to, session), port: to }
}

async function openSession(connection: Connection, port: number): Promise<string> {
  const opened = await connection.ask(post(postHead(port), initialize))
  checkInitialize(messageOf(opened))
  const session = String(headerOf(opened, 'mcp-session-id'))
  await connection.ask(post(headFor(port, session), initialized))
  return session
}

function headFor(port: number, session: string): string {
  return postHead(port, { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' })
}

function bodyOf(call: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
}

/** Throws unless this is a good answer, whatever came before it. */
function check(got: HttpAnswer): void {
  if (got.status !== 200 || !got.body.includes('"text":'))
    throw new Error(`status ${got.status}: ${got.body}`)
}

function checkText(got: string): void {
  if (!got.includes('"text":')) throw new Error(got)
}

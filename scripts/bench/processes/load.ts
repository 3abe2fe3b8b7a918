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

/** A session, and a connection for its calls. */
interface Lane {
  readonly port: number
  readonly head: string
  /** The process that the session runs in. */
  readonly pid: string
  connection: Connection
}

export interface Call {
  readonly name: string
  readonly arguments?: object
}

export interface Drive {
  readonly port: number
  readonly call: Call
  readonly ms: number
  /** Whether the sessions use connections that others have opened. */
  readonly mixed: boolean
}

/** What was done in so many seconds; `again` counts calls whose connection the server had closed. */
export interface Driven {
  readonly calls: number
  readonly again: number
  readonly seconds: number
}

const lanes = new Map<number, { own: Lane[]; mixed: Lane[] }>()
const ending = { at: 0 }

/** Opens sessions and calls tools in them, each call after the answer to the one before; checks every answer. */
answer({
  /** Answers which share of the sessions is in another process than their connection, when mixed. */
  async open({ port, sessions }: { port: number; sessions: number }): Promise<number> {
    const own = await Promise.all(Array.from({ length: sessions }, () => openLane(port)))
    const connections = shuffle(own)
    const mixed = own.map((lane, at) => ({ ...lane, connection: connections[at]?.connection as Connection }))
    lanes.set(port, { own, mixed })
    return own.filter(({ pid }, at) => pid !== connections[at]?.pid).length / sessions
  },
  drive: ({ port, call, ms, mixed }: Drive) => drive(lanesOf(port, mixed), call, ms),
  stop: () => {
    ending.at = 0
  },
  /** Kills the process of a session: milliseconds to its first good answer from another one. */
  async kill({ port }: { port: number }): Promise<number> {
    const lane = await openLane(port)
    const since = performance.now()
    process.kill(Number(lane.pid), 'SIGKILL')
    await keepAsking(lane, { name: 'pid' })
    lane.connection.close()
    return performance.now() - since
  },
  /** Opens the connections anew, as a client does whose server has ended. */
  close: ({ port }: { port: number }) => {
    for (const { connection } of lanesOf(port, false)) connection.close()
    lanes.delete(port)
  },
})

async function openLane(port: number): Promise<Lane> {
  const connection = await openConnection(port)
  const opened = await connection.ask(post(postHead(port), initialize))
  checkInitialize(messageOf(opened))
  const session = String(headerOf(opened, 'mcp-session-id'))
  const head = postHead(port, { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' })
  await connection.ask(post(head, initialized))
  const pid = textOf(await connection.ask(post(head, bodyOf({ name: 'pid' }))))
  return { port, head, pid, connection }
}

function lanesOf(port: number, mixed: boolean): Lane[] {
  return lanes.get(port)?.[mixed ? 'mixed' : 'own'] ?? []
}

async function drive(all: readonly Lane[], call: Call, ms: number): Promise<Driven> {
  const since = performance.now()
  ending.at = since + ms
  const counts = { calls: 0, again: 0 }
  await Promise.all(
    all.map(async (lane) => {
      while (performance.now() < ending.at) {
        counts.again += await keepAsking(lane, call)
        counts.calls += 1
      }
    }),
  )
  return { ...counts, seconds: (performance.now() - since) / 1_000 }
}

/** Answers how often it was asked again, on a connection of its own, as the one before was closed. */
async function keepAsking(lane: Lane, call: Call): Promise<number> {
  const until = performance.now() + 10_000
  for (let again = 0; ; again += 1) {
    const got = await lane.connection.ask(post(lane.head, bodyOf(call))).catch((error: Error) => error)
    if (!(got instanceof Error)) {
      textOf(got)
      if (/^connection: *close/im.test(got.head)) await reopen(lane)
      return again
    }
    if (performance.now() > until) throw got
    await reopen(lane)
  }
}

async function reopen(lane: Lane): Promise<void> {
  lane.connection.close()
  lane.connection = await openConnection(lane.port)
}

function bodyOf(call: Call): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { arguments: {}, ...call } })
}

/** Throws unless this is a good answer. */
function textOf(got: HttpAnswer): string {
  const text = got.status === 200 ? messageOf(got).result?.content?.[0]?.text : undefined
  if (typeof text !== 'string') throw new Error(`status ${got.status}: ${got.body}`)
  return text
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }))
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item)
}

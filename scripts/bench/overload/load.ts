import { setTimeout as pause } from 'node:timers/promises'
import { answer } from '../asked-program.js'
import { type Call, type Client, type Kind, openClient, Refused, startPiped } from './clients.js'
import { type Flood, quantile, type Told } from './figures.js'

/** Calls that are in flight at once, at most: beyond them the load itself has no more descriptors. */
const most = 12_000
/** Milliseconds after the last call in which answers are waited for. */
const waiting = 40_000

const clients: Client[] = []
const crowd: Client[] = []

interface FloodOrder {
  readonly call: Call
  readonly ms: number
  readonly perSecond: number
  /** Milliseconds after which users leave, and say so. */
  readonly leaveAfter?: number
}

/** Clients of the server, and what they do. */
answer({
  /** Opens so many clients, each at an address of its own. */
  async open({ kind, port, count, from }: { kind: Kind; port: number; count: number; from: number }) {
    for (let at = 0; at < count; at += 1) clients.push(await openClient(kind, port, addressOf(from + at)))
  },
  /** Starts the server of standard input, with its client. Answers its process. */
  async start({ own }: { own: readonly string[] }): Promise<number> {
    const { client, pid } = await startPiped(own)
    clients.push(client)
    return pid
  },
  /** So many calls in flight at once for `ms`, each after the answer to the one before. */
  async keep({ call, ms, lanes }: { call: Call; ms: number; lanes: number }): Promise<readonly Told[]> {
    const calls: Told[] = []
    const until = performance.now() + ms
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const client = clients[lane % clients.length] as Client
        while (performance.now() < until) calls.push(await told(client, call))
      }),
    )
    return calls
  },
  flood,
  /** Opens clients of one address until one is refused, or there are `most`. Answers how many there are. */
  async crowd({ kind, port, most }: { kind: Kind; port: number; most: number }) {
    try {
      while (crowd.length < most) crowd.push(await openClient(kind, port, '203.0.113.7'))
      return { count: crowd.length, why: 'none was refused' }
    } catch (error) {
      if (error instanceof Refused) return { count: crowd.length, why: error.message }
      throw error
    }
  },
  leave: () => {
    for (const client of crowd.splice(0)) client.close()
  },
  close: () => {
    for (const client of clients.splice(0)) client.close()
  },
})

/** Sends `perSecond` calls by chance, as many users do who do not know of each other, clients in turn. */
async function flood({ call, ms, perSecond, leaveAfter }: FloodOrder): Promise<Flood> {
  const calls: Told[] = []
  const late: number[] = []
  const since = performance.now()
  let due = since
  let sent = 0
  let open = 0
  let answeredAt = since
  while (due < since + ms) {
    for (const now = performance.now(); due <= now && due < since + ms; due += gap(perSecond)) {
      late.push(now - due)
      const client = clients[sent % clients.length] as Client
      sent += 1
      if (open >= most) continue
      open += 1
      void told(client, call, leaveAfter).then((one) => {
        open -= 1
        answeredAt = performance.now()
        calls.push({ ...one, at: one.at - since })
      })
    }
    await pause(1)
  }
  const over = performance.now()
  while (open > 0 && performance.now() < over + waiting) await pause(5)
  const drained = Math.max(0, answeredAt - over)
  return { calls, unanswered: sent - calls.length, late: quantile(late, 0.99), drained }
}

async function told(client: Client, call: Call, leaveAfter?: number): Promise<Told> {
  const at = performance.now()
  const fate = await client.call(call, leaveAfter)
  return { at, ms: performance.now() - at, fate }
}

/** Milliseconds until the next of calls that come by chance. */
function gap(perSecond: number): number {
  return (-Math.log(1 - Math.random()) * 1_000) / perSecond
}

/** Of a network for documentation, each in a network of its own. */
function addressOf(at: number): string {
  return `198.18.${at >> 8}.${at & 255}`
}

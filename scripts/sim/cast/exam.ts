import type { Event } from '../history/history.js'
import type { Act, ActKind, Plan } from '../plan/plan.js'
import { isOf } from '../plan/plan.js'
import { makeCalls } from './calls.js'
import type { ClientHost } from './client-host.js'
import { type ServerHost, usualIdle } from './server-host.js'
import type { Stage } from './stage.js'

/** ms in which who has subscribed hears of a change: a dead stream is found out after 5 min at most. */
export const toldWithin = 310_000

/** What the exam asks of those who take it. */
export interface Examined {
  readonly stage: Stage
  readonly servers: ReadonlyMap<string, ServerHost>
  readonly clients: ReadonlyMap<string, ClientHost>
  /** Resolves once all is calm and stays so; false where that takes too long. */
  readonly calm: () => Promise<boolean>
  /** Lets time go on until it is done, for so many ms at most. */
  readonly wait: (ms: number, done: () => boolean) => Promise<void>
}

/**
 * When all is whole: clients subscribe, lose their sessions, open others, and hear of changes. Then for a while
 * nothing is done, and what is in use must not expire.
 */
export async function examine(examined: Examined): Promise<void> {
  const { servers } = examined
  const ask = new Asking(examined)
  for (const uri of resources) ask.all('subscribe', uri)
  if (!(await examined.calm())) return
  for (const server of servers.values()) server.endSessions()
  await examined.wait(noticeTime, () => false)
  // who has no stream finds out with its next call
  ask.all('echo')
  if (!(await examined.calm())) return
  await tellChanges(examined, ask)
  await examined.wait(quietTime(examined.stage.plan), () => false)
}

/** When all clients are gone, and their sessions, what servers keep of them. */
export async function rest({ stage, servers, wait }: Examined): Promise<void> {
  // nodes beat all the time: not each run of a cluster has as long as that
  const { plan } = stage
  if (plan.seed % 4 !== 0 && plan.servers.some(({ cluster }) => cluster !== undefined)) return
  const isEmpty = (): boolean => [...servers.values()].every(({ sessions }) => sessions === 0)
  await wait(2 * usualIdle, isEmpty)
  await wait(keptTime, () => false)
  const up = [...servers.values()].filter(({ isUp }) => isUp)
  await countTables(stage, up)
}

/** What clients keep that have nothing to do, and whose connections last. */
export async function restOfClients({ stage, clients }: Examined): Promise<void> {
  await countTables(stage, [...clients.values()])
}

async function countTables(stage: Stage, hosts: readonly (ServerHost | ClientHost)[]): Promise<void> {
  const alive = hosts.flatMap((host) => (host.program === undefined ? [] : [{ host, program: host.program }]))
  const counts = await stage.tables.left(alive.map(({ program }) => program))
  for (const [at, { host }] of alive.entries()) host.rest(counts[at] ?? {})
}

const resources = ['sim://note/1', 'sim://note/2']
/** ms in which clients hear of the end of their sessions. */
const noticeTime = 1_000
/** ms until streams (5 min) and handlers that ask (10 min) are given up that nobody comes back for. */
const keptTime = 670_000

/** Long enough for short timeouts to be over twice. */
function quietTime({ servers }: Plan): number {
  const idle = servers.map(({ timeouts }) => timeouts.idle ?? Number.POSITIVE_INFINITY)
  const short = Math.min(...idle)
  return short <= 10_000 ? 2.5 * short : 0
}

/** Calls beyond those of the plan. */
class Asking {
  readonly #examined: Examined
  #last = 1_000_000

  constructor(examined: Examined) {
    this.#examined = examined
  }

  /** Clients that have a handle of their own, by their names in the history, and their servers. */
  *listeners(): Generator<{ readonly name: string; readonly host: ClientHost; readonly server: string }> {
    for (const host of this.#examined.clients.values()) {
      const { name, kind, server, servers = [server] } = host.plan
      if (kind === 'client') yield { name, host, server }
      if (kind === 'fleet') for (const each of servers) yield { name: `${name} ${each}`, host, server: each }
    }
  }

  all(operation: ActKind, uri?: string): void {
    for (const { host, server } of this.listeners()) {
      this.#last += 1
      const act: Act = {
        id: this.#last,
        at: 0,
        client: host.plan.name,
        operation,
        timeout: 30_000,
        server,
        ...(uri !== undefined && { uri }),
      }
      makeCalls(this.#examined.stage, host, act)
    }
  }
}

/**
 * Servers say that resources have changed, until all who have subscribed have heard of it. A stream of a machine
 * that has lost its power is found out late, and where there are no sessions nobody tells what came meanwhile:
 * there is one more change.
 */
async function tellChanges({ stage, servers, wait }: Examined, ask: Asking): Promise<void> {
  const { recorder, plan } = stage
  const missing = new Missing([...ask.listeners()].filter(({ server }) => canListen(plan, server)))
  for (let round = 1; round <= 2 && missing.size > 0; round++) {
    for (const { name: server } of plan.servers) {
      const host = [...servers.values()].find(({ plan, isUp }) => isUp && isOf(server, plan.name))
      for (const uri of resources) void host?.touch(uri, missing.of(server, uri))
    }
    let seen = recorder.events.length
    await wait(toldWithin, () => {
      while (seen < recorder.events.length) missing.see(recorder.events[seen++])
      return missing.size === 0
    })
  }
}

interface Listener {
  readonly name: string
  readonly server: string
}

/** Who has not heard of which change. */
class Missing {
  readonly #left: Set<{ readonly listener: Listener; readonly uri: string }>

  constructor(listeners: readonly Listener[]) {
    this.#left = new Set(resources.flatMap((uri) => listeners.map((listener) => ({ listener, uri }))))
  }

  get size(): number {
    return this.#left.size
  }

  of(server: string, uri: string): readonly string[] {
    return [...this.#left].flatMap((one) =>
      one.uri === uri && one.listener.server === server ? [one.listener.name] : [],
    )
  }

  see(event: Event | undefined): void {
    if (event?.type !== 'received' || event.kind !== 'updated') return
    for (const one of this.#left)
      if (one.uri === event.payload && one.listener.name === event.client) this.#left.delete(one)
  }
}

/** Where streams are few, or sessions come back without their wishes (sealed ids), some hear nothing. */
function canListen({ servers }: Plan, name: string): boolean {
  const server = servers.find((each) => each.name === name)
  return server !== undefined && !server.sealed && server.limits.subscriptions === undefined
}

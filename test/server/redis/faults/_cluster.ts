import { request } from 'node:http'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { EngineHost } from '../../../../scripts/cluster/engine.js'
import { type ClusterNode, startNode } from '../../../../scripts/cluster/nodes.js'
import { check, showViolation } from '../../../../scripts/sim/history/check.js'
import { type Event, type Facts, Recorder } from '../../../../scripts/sim/history/history.js'
import { readEvents } from '../../../../scripts/soak/history-log.js'
import { startPace } from '../../../../scripts/soak/pace.js'
import type { TestContext } from '../../../support/suite.js'
import { posted } from '../../_stateless.js'
import { type Answer, RawClient } from '../../_client.js'

/** The lease of a node in ms, as it is by default. */
export const lease = 2_500
/** Milliseconds within which a session is served again once its owner has died. */
export const promised = 3_000
const nodeCount = 3
/** Milliseconds that one request may take. */
const patience = 20_000

/** Three nodes of one server, each a program, on one Redis that has a replica; all that is done is written down. */
export class FaultyCluster {
  readonly engine: EngineHost
  readonly nodes: readonly ClusterNode[]
  readonly statuses = new Map<number, number>()
  readonly #t: TestContext
  readonly #pace: ReturnType<typeof startPace>
  readonly #recorder: Recorder
  #calls = 0

  private constructor(t: TestContext, engine: EngineHost, nodes: readonly ClusterNode[]) {
    this.#t = t
    this.engine = engine
    this.nodes = nodes
    this.#pace = startPace(() => [process.pid])
    t.after(() => this.#pace.stop())
    this.#recorder = new Recorder(() => this.now())
  }

  static async start(t: TestContext): Promise<FaultyCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'caduceus-faults-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const engine = await EngineHost.start(t, nodeCount)
    const starting = Array.from({ length: nodeCount }, async (_, i) => {
      const node = await startNode(join(folder, `node-${i}`), engine.url(i))
      t.after(() => node.host.kill())
      return node
    })
    const cluster = new FaultyCluster(t, engine, await Promise.all(starting))
    await cluster.whole()
    return cluster
  }

  /** Milliseconds by the pace of the machine. */
  now(): number {
    return this.#pace.now()
  }

  /** Opens sessions, at one node after the other. */
  open(count: number): Promise<Session[]> {
    const opening = Array.from({ length: count }, async (_, number) => {
      const session = new Session(this, `client-${number}`, this.#t)
      await session.open(number % nodeCount)
      return session
    })
    return Promise.all(opening)
  }

  /** Whether a node says that it serves. */
  isReady(node: number): Promise<boolean> {
    const { port } = this.nodes[node] as ClusterNode
    return new Promise((resolve) => {
      const look = request({ host: '127.0.0.1', port, path: '/readyz', agent: false, timeout: 1_000 })
      look.on('response', (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      })
      look.on('timeout', () => look.destroy())
      look.on('error', () => resolve(false))
      look.end()
    })
  }

  /** Resolves once all nodes say that they serve. */
  async whole(): Promise<void> {
    for (const [node] of this.nodes.entries()) await until(this.#t, () => this.isReady(node))
  }

  /** The node that runs a session: the one whose handler was the last to run. */
  async ownerOf(session: Session, by = 0): Promise<number> {
    const token = await insist(session, 'echo', by)
    const owner = this.nodes.findIndex(({ log }) =>
      readEvents(readFileSync(log, 'utf8')).some((event) => event.type === 'ran' && event.token === token),
    )
    assert.ok(owner >= 0, 'no node ran it')
    return owner
  }

  /** A request without a session, to one node. */
  modern(node: number): Promise<Answer> {
    const { body, headers } = posted('tools/call', {
      name: 'echo',
      arguments: { token: this.token('modern') },
    })
    return new RawClient(this.#t, this.urlOf(node)).post(body, headers)
  }

  urlOf(node: number): string {
    return `http://127.0.0.1:${this.nodes[node]?.port}/mcp`
  }

  /** What no other call is known by. */
  token(client: string): string {
    this.#calls += 1
    return `${client}-call-${this.#calls}`
  }

  note(event: Parameters<Recorder['add']>[0]): void {
    this.#recorder.add(event)
  }

  /** Sessions add to their lists, each one thing after the other, until the returned function is called. */
  load(sessions: readonly Session[], nodes: readonly number[] = [0, 1, 2]): () => Promise<void> {
    const state = { isOver: false }
    const runs = sessions.map(async (session, number) => {
      for (let turn = number; !state.isOver; turn++) {
        await session.ask('append', nodes[turn % nodes.length] ?? 0).catch(() => sleep(50))
      }
    })
    const end = async (): Promise<void> => {
      state.isOver = true
      await Promise.all(runs)
    }
    this.#t.after(end)
    return end
  }

  /** What all sessions hold in the end is asked for, and everything is judged. */
  async judge(sessions: readonly Session[], lasting = true): Promise<void> {
    await Promise.all(sessions.map((session, number) => insist(session, 'recall', number % nodeCount)))
    const done = this.nodes.flatMap(({ log }): Event[] => readEvents(readFileSync(log, 'utf8')))
    const history = [...done.filter((event) => !isModern(event)), ...this.#recorder.events]
    const facts: Facts = {
      store: 'durable',
      owners: 'turns',
      ordered: false,
      lateBy: patience,
      calmWithin: patience,
      ...(lasting && { lasting: new Set(sessions.map(({ name }) => name)) }),
      queues: [],
    }
    assert.equal(
      check(history, facts).map((violation) => showViolation(violation, history)),
      [],
    )
    for (const status of [401, 403, 404]) assert.is(this.statuses.get(status) ?? 0, 0, `${status}`)
    assert.ok(done.length > sessions.length)
  }
}

function isModern(event: Event): boolean {
  return 'token' in event && event.token?.startsWith('modern-') === true
}

/** A session with its list, which any node may be asked for. */
export class Session {
  readonly name: string
  readonly #cluster: FaultyCluster
  readonly #clients: readonly RawClient[]

  constructor(cluster: FaultyCluster, name: string, t: TestContext) {
    this.name = name
    this.#cluster = cluster
    this.#clients = cluster.nodes.map((_, node) => new RawClient(t, cluster.urlOf(node)))
  }

  get id(): string | undefined {
    return this.#clients[0]?.sessionId
  }

  async open(node: number): Promise<void> {
    const opened = await this.at(node).open(this.name)
    for (const client of this.#clients) client.sessionId = opened.sessionId
  }

  at(node: number): RawClient {
    const client = this.#clients[node]
    if (client === undefined) throw new Error(`no node ${node}`)
    return client
  }

  /** Resolves with the token of the call when a node has answered it; rejects otherwise. */
  async ask(what: 'echo' | 'append' | 'recall', node: number): Promise<string> {
    const cluster = this.#cluster
    const token = cluster.token(this.name)
    cluster.note({
      type: 'invoke',
      call: token,
      program: 'test',
      client: this.name,
      era: 'session',
      operation: what === 'recall' ? 'read' : what,
      token,
      ...(what !== 'recall' && { most: 1 }),
      noted: what !== 'recall',
      expected: token,
      timeout: patience,
    })
    const { code, sent, message, text } = await this.#post(what, token, node)
    if (text === undefined) {
      cluster.note({ type: 'fail', call: token, code, sent, message })
      throw new Error(`${token} at node ${node}: ${code} ${message}`)
    }
    const seen = text.startsWith('{') ? JSON.parse(text) : { token: text }
    const { token: value, ...list } = seen as { token: string; list?: string; elements?: string[] }
    cluster.note({ type: 'ok', call: token, value, ...list })
    return token
  }

  async #post(name: string, token: string, node: number): Promise<Outcome> {
    const request = {
      jsonrpc: '2.0',
      id: token,
      method: 'tools/call',
      params: { name, arguments: { token } },
    }
    const over = new AbortController()
    try {
      const late = sleep(patience, undefined, { signal: over.signal })
      const answer = await Promise.race([this.at(node).post(request), late])
      if (answer === undefined) return { code: 'LATE', sent: true, message: `${patience} ms` }
      const { status, body, messages } = answer
      this.#cluster.statuses.set(status, (this.#cluster.statuses.get(status) ?? 0) + 1)
      const response = messages.find(({ id }) => id === token)
      const text = response?.result?.content?.[0]?.text
      if (text !== undefined) return { code: 'OK', sent: true, message: '', text }
      // a node that refuses has done nothing
      return { code: `HTTP ${status}`, sent: status !== 503, message: response?.error?.message ?? body }
    } catch (error) {
      const { code = 'LOST', message } = error as NodeJS.ErrnoException
      return { code, sent: code !== 'ECONNREFUSED', message }
    } finally {
      over.abort()
    }
  }
}

interface Outcome {
  readonly code: string
  readonly sent: boolean
  readonly message: string
  readonly text?: string
}

/** Asks one of these nodes after the other until the session is served; answers the ms it took, by the pace of the machine. */
export async function servedAfter(
  cluster: FaultyCluster,
  session: Session,
  nodes: readonly number[],
): Promise<number> {
  const since = cluster.now()
  for (let turn = 0; ; turn++) {
    const isServed = await session.ask('echo', nodes[turn % nodes.length] ?? 0).then(
      () => true,
      () => false,
    )
    if (isServed) return cluster.now() - since
    assert.ok(cluster.now() - since < patience, `${session.name} is not served`)
    await sleep(20)
  }
}

/** Asks a node until it has done it: in the second after a fault it may still take others for dead. */
export async function insist(
  session: Session,
  what: 'append' | 'echo' | 'recall',
  node: number,
): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await session.ask(what, node)
    } catch (error) {
      if (tries > 20) throw error
      await sleep(100)
    }
  }
}

/** Waits until it holds; the time of the test bounds that. */
export async function until(t: Pick<TestContext, 'signal'>, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20, undefined, { signal: t.signal })
}

import { createHash } from 'node:crypto'
import { type Deferred, defineActor, type Refusal, refuse } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import { describe } from '../../runtime/watch/inspect.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { TransportError } from '../../transports/base/errors.js'
import { ClientCounts } from '../../transports/connections/client-counts.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { StreamKeeper, StreamMember, StreamReport } from '../../transports/contract/shared-streams.js'
import type { Envelope } from '../cluster/envelope.js'
import type { News } from '../cluster/cluster.js'
import { Outbox } from '../cluster/outbox.js'
import { askStore } from '../sessions/saving.js'
import type { LocalEngineParts } from '../engine/local-engine.js'
import type { SessionRecord, SessionStore } from '../engine/session-store.js'
import type { NodeRef } from './node-ref.js'

export interface HubInput {
  readonly engine: LocalEngineParts
  readonly idleTimeout: number
  readonly maxSessions: number
  readonly maxSessionsPerClient: number | undefined
  /** Where the store is asked: it may be an author's. */
  readonly tasks: ProcessRef
  /** Makes what keeps the event streams; absent where no stream is resumed. */
  keepStreams?: ((now: () => number) => Promise<StreamKeeper>) | undefined
}

interface Node {
  readonly name: string
  readonly ref: NodeRef
  isRetiring: boolean
  /** It is asked nothing any more. */
  isClosed: boolean
}

/** A session that runs on a node. */
interface Claim {
  readonly node: string
}

interface Hub extends Omit<HubInput, 'tasks' | 'keepStreams' | 'engine' | 'idleTimeout'> {
  readonly store: SessionStore
  readonly tasks: TaskSupervisor
  readonly streams: StreamKeeper | undefined
  /** Those that keep event streams here, also while they start. */
  readonly members: Map<string, StreamMember>
  readonly nodes: Map<string, Node>
  /** What a node must hear: it waits there for the answer, or for the end of who was to answer. */
  readonly outbox: Outbox<(ref: NodeRef) => boolean>
  readonly claims: Map<string, Claim>
  /** What the store is being asked, by session: one thing after the other. */
  readonly asked: Map<string, Promise<unknown>>
  /** How many processes there have been. */
  count: number
  readonly clients: ClientCounts<Claim>
  [describe](): string
}

/** Who a session is claimed for. */
export type Claimer = Pick<Peer, 'principal' | 'remoteAddress'>

/**
 * What the nodes share: which of them a session runs on, the sessions' records, and the way to each other. A
 * node that ends lets go of its sessions at once.
 */
export const hubActor = defineActor({
  name: 'hub',
  stray: 'report',
  async init({ tasks, keepStreams, engine, ...input }: HubInput, ctx: ActorContext): Promise<Hub> {
    const { sessions: store } = await engine.open(ctx, input)
    const streams = await keepStreams?.(ctx.clock.now)
    if (streams !== undefined) ctx.sendAfter(trimInterval)
    const nodes = new Map<string, Node>()
    const hub: Hub = {
      ...input,
      store,
      streams,
      members: new Map(),
      tasks: new TaskSupervisor(tasks as TaskSupervisor['ref']),
      nodes,
      outbox: new Outbox((name, tell) => {
        const node = nodes.get(name)
        return node === undefined || tell(node.ref)
      }, ctx.clock),
      claims: new Map(),
      asked: new Map(),
      count: 0,
      clients: new ClientCounts<Claim>(input.maxSessionsPerClient),
      [describe]: () => `${hub.claims.size} sessions on ${hub.nodes.size} processes`,
    }
    return hub
  },
  call: {
    join(hub, { name, ref }: { name: string; ref: NodeRef }, ctx) {
      hub.nodes.set(name, { name, ref, isRetiring: false, isClosed: false })
      ctx.monitor(ref)
    },
    /** A node that has retired is about to end: what it is asked from now on is undelivered. */
    close(hub, name: string) {
      const node = hub.nodes.get(name)
      if (node !== undefined) node.isClosed = true
    },
    /** The number of a new process. */
    number(hub) {
      hub.count += 1
      return hub.count
    },
    nodes: ({ nodes }) => [...nodes.values()].map(({ name, ref, isRetiring }) => ({ name, ref, isRetiring })),
    claim: (hub, { node, id, who }: { node: string; id: string; who: Claimer | undefined }) =>
      claim(hub, node, id, who),
    load: (hub, id: string, ctx) => ask(hub, id, (store) => store.load(id), ctx),
    /** Only the owner's: one that has lost the session changes nothing. */
    save(hub, { node, record }: { node: string; record: SessionRecord }, ctx) {
      if (hub.claims.get(record.id)?.node === node)
        return ask(hub, record.id, (store) => store.save(record), ctx)
      return refuse(new TransportError('SEND_FAILED', 'the session is for another node', { retryable: true }))
    },
    delete: (hub, id: string, ctx) => ask(hub, id, (store) => store.delete(id), ctx),
  },
  cast: {
    retire(hub, name: string) {
      const node = hub.nodes.get(name)
      if (node !== undefined) node.isRetiring = true
    },
    /** A process has not started: it has left nothing behind. */
    forget: (hub, name: string) => forget(hub, name),
    report: (hub, { from, told }: { from: string; told: StreamReport }) => member(hub, from)?.receive(told),
    release: (hub, { node, id }: { node: string; id: string }) => release(hub, node, id),
    send({ nodes, outbox }, { from, to, envelope }: { from: string; to: string; envelope: Envelope }) {
      const tell = (ref: NodeRef): boolean => ref.cast('envelope', { from, envelope })
      if (envelope.type !== 'ask' && envelope.type !== 'said') return outbox.send(to, tell)
      const node = nodes.get(to)
      const isOpen = node !== undefined && (envelope.type === 'said' || !node.isClosed)
      if ((isOpen && tell(node.ref)) || envelope.type === 'said') return
      const undelivered = { type: 'undelivered', id: envelope.id } as const
      outbox.send(from, (ref) => ref.cast('envelope', { from: to, envelope: undelivered }))
    },
    /** A node knows that another one has ended: what it had asked of that one before, it has been told of. */
    knows({ outbox }, { from, ended }: { from: string; ended: string }) {
      outbox.send(from, (ref) => ref.cast('gone', ended))
    },
    publish(hub, { from, news }: { from: string | undefined; news: News }) {
      for (const node of hub.nodes.values()) if (node.name !== from) node.ref.cast('hear', news)
    },
  },
  info: {
    timer(hub, _payload, ctx) {
      hub.streams?.trim()
      ctx.sendAfter(trimInterval)
    },
    down(hub, { process }) {
      const ended = [...hub.nodes.values()].find((node) => node.ref === process)
      if (ended === undefined) return
      hub.nodes.delete(ended.name)
      hub.outbox.forget(ended.name)
      forget(hub, ended.name)
      for (const [id, { node }] of hub.claims) if (node === ended.name) release(hub, node, id)
      for (const name of hub.nodes.keys()) hub.outbox.send(name, (ref) => ref.cast('ended', ended.name))
    },
  },
})

/** Milliseconds between two looks for streams that nobody comes back for. */
const trimInterval = 15_000

/** A process reports before it has joined: what is for it waits for that, as it knows of no stream yet. */
function member(hub: Hub, name: string): StreamMember | undefined {
  const known = hub.members.get(name)
  if (known !== undefined || hub.streams === undefined) return known
  const joined = hub.streams.join((news) => hub.outbox.send(name, (ref) => ref.cast('streams', news)))
  hub.members.set(name, joined)
  return joined
}

function forget({ members }: Hub, name: string): void {
  members.get(name)?.gone()
  members.delete(name)
}

/** Answers the node that the session is for. */
function claim(hub: Hub, node: string, id: string, who: Claimer | undefined): string | Refusal {
  const { claims, clients, nodes, maxSessions } = hub
  const owner = claims.get(id)?.node
  if (owner !== undefined) return owner
  const claimer = nodes.get(node)
  if (claimer === undefined)
    return refuse(new TransportError('SEND_FAILED', `${node} has ended`, { retryable: true }))
  if (claimer.isRetiring) return successor(hub, node, id)
  if (claims.size >= maxSessions) {
    const problem = `the server has ${maxSessions} sessions already`
    return refuse(new TransportError('SESSION_LIMIT', problem, { retryable: true }))
  }
  const claimed = { node }
  if (who !== undefined && !clients.enterAs({ ...who, transport: '', headers: {} }, claimed)) {
    clients.leave(claimed)
    const problem = `one client may have ${clients.max} sessions`
    return refuse(new TransportError('CLIENT_LIMIT', problem, { retryable: true }))
  }
  claims.set(id, claimed)
  return node
}

/** All who ask for the same session are sent to the same node. */
function successor({ nodes }: Hub, node: string, id: string): string {
  const others = [...nodes.values()].filter((other) => !other.isRetiring)
  const number = createHash('sha256').update(id).digest().readUInt32BE()
  return others[number % Math.max(1, others.length)]?.name ?? node
}

function release({ claims, clients }: Hub, node: string, id: string): void {
  const claimed = claims.get(id)
  if (claimed?.node !== node) return
  claims.delete(id)
  clients.leave(claimed)
}

/** A store may take a while: what a former owner has saved is there before a new one loads. */
function ask(
  { asked, tasks, store }: Hub,
  id: string,
  fn: (store: SessionStore) => unknown,
  ctx: ActorContext,
): Deferred<unknown> {
  const reply = ctx.defer<unknown>()
  const former = asked.get(id) ?? Promise.resolve()
  const asking = former
    .then(() => askStore(tasks, () => fn(store)))
    .then(
      (answer) => reply.resolve(answer),
      (error) => reply.reject(error),
    )
  const last = asking.finally(() => {
    if (asked.get(id) === last) asked.delete(id)
  })
  asked.set(id, last)
  return reply
}

export type HubRef = RefOf<typeof hubActor>

import type { Dialect } from '../../protocol/dialects/dialect.js'
import { McpError } from '../../protocol/wire/errors.js'
import { isRequest, type JsonRpcRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { dialectOf, handshakesOf } from '../../protocol/dialects/versions.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { DynamicSupervisor } from '../../runtime/supervision/dynamic.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { type ExitReason, normal } from '../../runtime/base/exit.js'
import { forever, processOf, type RefOf } from '../../runtime/process/ref.js'
import type { World } from '../../runtime/time/world.js'
import { pause } from '../../runtime/time/wait.js'
import type { Registry } from '../../runtime/process/registry.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { Peer, Response, Sink } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import type { ServerNames } from '../base/names.js'
import type { OpenedSession } from '../../transports/inbound/services.js'
import { type Cluster, OwnedElsewhere } from '../cluster/cluster.js'
import { refusal, tryAgain } from '../requests/answer.js'
import type { Holdings, holdingsActor } from '../holdings/holdings-actor.js'
import type { hooksActor } from './hooks-actor.js'
import type { Asleep } from '../holdings/hibernation.js'
import { hibernated, moved, noteSession, rolledBack, taken } from './session.js'
import { type Delivery, sessionActor, type SessionInfo, type SessionRef } from './session-actor.js'
import { answerOpening, checkRoom, readOpening } from './opening.js'
import { type Known, SessionRecords } from './records.js'
import { noSession, peerProblem } from './access.js'
import { ownerOf } from '../base/owner.js'
import { digestOf } from '../base/work-facts.js'

/** Milliseconds until a session that is at work is asked again to go to another node. */
const retryLeave = 50
/** Milliseconds a session has for its end. */
const shutdownTime = 1_000

/** Silent sessions that are evicted for a new one, whose place another one may take. */
const mostEvicted = 3

/**
 * Opens, finds and restores sessions. It runs in the caller's scope: a store that throws costs one request.
 */
export class Sessions {
  readonly #holdings: Holdings
  readonly #registry: Registry
  readonly #supervisor: DynamicSupervisor
  readonly #records: SessionRecords
  readonly #world: World
  readonly #cluster: Cluster | undefined
  readonly #restoring = new Map<string, Promise<SessionRef>>()
  /** Sessions that run here, by id: faster than the registry, whose key has to be built. */
  readonly #open = new TurnoverMap<string, SessionRef>()
  /** Sessions whose clients have said nothing since `initialize`, the oldest first: they make room for others. */
  readonly #silent = new Map<string, SessionRef>()
  /** Sessions of this node, among them those that are still to be brought back. */
  readonly #owned = new Set<string>()
  /** Sessions that are asked to move to another node: messages wait for their answer. */
  readonly #leaving = new Map<string, Promise<unknown>>()
  /** Sessions that run or start here. */
  #running = 0
  /** Sessions that are looked for at this moment, to be brought back. */
  readonly #waking = new Set<string>()
  #sweeping: unknown

  /** Throws RuntimeError NOPROC when the group is not complete. */
  constructor(holdings: Holdings, ctx: ActorContext) {
    const { names } = holdings.settings
    const [sessions, tasks] = [ctx.registry.whereis(names.sessions), ctx.registry.whereis(names.tasks)]
    if (sessions === undefined || tasks === undefined)
      throw new RuntimeError('NOPROC', 'sessions need the supervisors of their group')
    this.#holdings = holdings
    this.#registry = ctx.registry
    this.#world = ctx.world
    this.#cluster = holdings.settings.cluster
    this.#supervisor = new DynamicSupervisor(sessions)
    this.#records = new SessionRecords(
      holdings,
      new TaskSupervisor(tasks, Number.POSITIVE_INFINITY),
      this.#world,
    )
    if (this.#cluster !== undefined) this.#goOnOwning()
    this.#sweepLater()
  }

  /** News of other nodes that came while there was no group has reached nobody. */
  #goOnOwning(): void {
    for (const { facts } of [...this.#holdings.asleep.all()]) {
      this.#owned.add(facts.id)
      this.missed(facts.id)
    }
  }

  /** Its group has ended: the next one looks after the sessions that hibernate. */
  end(): void {
    this.#world.clearTimeout(this.#sweeping)
  }

  async open(request: JsonRpcRequest, peer: Peer): Promise<OpenedSession> {
    for (let evicted = 0; ; evicted += 1)
      try {
        return await this.#tryOpen(request, peer)
      } catch (error) {
        const isFull = error instanceof TransportError && error.code === 'SESSION_LIMIT'
        const [[id, oldest] = []] = this.#silent
        if (!isFull || id === undefined || oldest === undefined || evicted === mostEvicted) throw error
        // whoever comes meanwhile takes the next one
        this.#silent.delete(id)
        await oldest.stop(normal).catch(() => {}) // it may have ended by itself
      }
  }

  async #tryOpen(request: JsonRpcRequest, peer: Peer): Promise<OpenedSession> {
    let dialect: Dialect | undefined
    let begun: SessionRef | undefined
    try {
      const { facts, dialect: negotiated } = readOpening(request, peer, this.#holdings)
      dialect = negotiated
      const known = this.#records.issue(facts)
      checkRoom(known.record, this.#holdings)
      await this.#own(known.record.id, peer)
      const session = await this.#start(known, peer, false)
      begun = session
      const hasBegun = await this.#begin(session, known, false)
      await this.#records.save(hasBegun ? await session.call('record') : known.record)
      this.#noteOpen(known.record.id, session)
      if (session.alive) this.#silent.set(known.record.id, session)
      return { sessionId: known.record.id, response: answerOpening(request, dialect, peer, this.#holdings) }
    } catch (error) {
      begun?.kill() // its client has no id of it
      if (!(error instanceof McpError)) throw error
      return { sessionId: undefined, response: refusal(request.id, error, dialect) }
    }
  }

  deliver(sessionId: string, message: Message, sink: Sink, peer: Peer): Promise<Response | undefined> {
    const delivery = { message, sink, peer }
    this.#silent.delete(sessionId)
    if (this.#leaving.has(sessionId)) return this.#search(sessionId, delivery)
    const session = this.#records.areShared ? undefined : this.#open.get(sessionId)
    if (session?.alive !== true) return this.#search(sessionId, delivery)
    return session.call('deliver', delivery, forever).catch((error) => {
      if (hasNotBegun(error, message)) return this.#search(sessionId, delivery)
      return failedDelivery(message, error)
    })
  }

  async #search(sessionId: string, delivery: Delivery): Promise<Response | undefined> {
    try {
      const ask = (session: SessionRef) => session.call('deliver', delivery, forever)
      return await this.#ask(sessionId, delivery, ask)
    } catch (error) {
      return failedDelivery(delivery.message, error)
    }
  }

  knows(sessionId: string): boolean {
    return this.#open.get(sessionId)?.alive === true || this.#holdings.asleep.has(sessionId)
  }

  /** Rejects with TransportError SESSION_NOT_FOUND or REVISION_MISMATCH, and with what the store throws. */
  async admit(sessionId: string, peer?: Peer): Promise<string> {
    const session = this.#find(sessionId)
    const revision = session?.alive && !this.#records.areShared ? await revisionFor(session, peer) : undefined
    if (revision !== undefined) return revision
    const { record } = await this.#current(sessionId, session)
    const problem = peerProblem(record, peer)
    if (problem !== undefined) throw problem
    return record.revision
  }

  async attach(sessionId: string, sink: Sink, peer?: Peer): Promise<() => void> {
    this.#silent.delete(sessionId)
    const session = await this.#ask(sessionId, { peer }, async (found) => {
      await found.call('attach', { sink, peer })
      return found
    })
    return detaching(session, sink)
  }

  /** Messages to a reader may be lost: its client is notified of everything once more. */
  missed(sessionId: string): void {
    this.#open.get(sessionId)?.cast('missed')
    const { asleep } = this.#holdings
    const known = asleep.take(sessionId)
    // as if another program had written its record
    if (known !== undefined) asleep.add({ ...known, version: -1 })
  }

  async close(sessionId: string, peer?: Peer): Promise<void> {
    await this.admit(sessionId, peer)
    await this.#leaving.get(sessionId)
    const stop = async (): Promise<void> => {
      const session = this.#find(sessionId)
      const runs = session?.alive === true
      if (runs) await session.stop(normal)
      this.#forget(sessionId, normal)
      // one that may go on elsewhere was let go with its actor
      if (!runs || this.#mayGoOnElsewhere) await this.#own(sessionId, peer)
    }
    await this.#end(sessionId, stop).finally(() => this.#disown(sessionId))
  }

  /** Lets go of the sessions, each once it is idle: other nodes go on with them. */
  async retire(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#owned.size > 0) {
      for (const { facts } of [...this.#holdings.asleep.all()]) {
        this.#forget(facts.id, moved)
        this.#disown(facts.id)
      }
      await Promise.all(Array.from(this.#open.entries(), ([id, session]) => this.#letGo(id, session)))
      if (this.#owned.size > 0) await pause(retryLeave, this.#world, signal)
    }
  }

  /** Ends sessions that other nodes have taken over: nothing of them is saved or deleted here any more. */
  lose(sessionIds: readonly string[]): void {
    for (const id of sessionIds) {
      if (this.#forget(id, taken) !== undefined) this.#disown(id)
      void this.#find(id)
        ?.stop(taken)
        .catch(() => {})
    }
  }

  /** A session that hibernates does so no more, and does not go on here. Undefined if it did not. */
  #forget(id: string, { type: reason }: ExitReason): Asleep | undefined {
    const asleep = this.#holdings.asleep.take(id)
    if (asleep === undefined) return undefined
    this.#holdings.asleep.tidy()
    this.#holdings.clients.leave(id)
    const { facts, process } = asleep
    const { id: tree } = processOf(this.#supervisor.ref).tree
    noteSession({ facts, origin: { server: this.#holdings.settings.name, tree, process } }, 'ended', {
      reason,
    })
    return asleep
  }

  /** Ends the sessions that have hibernated for too long. */
  #sweep(): void {
    const now = this.#world.now()
    for (const { facts, until } of this.#holdings.asleep.all()) {
      if (until > now) break
      // whose message came in time, and waits for the store
      if (this.#waking.has(facts.id)) continue
      this.#forget(facts.id, normal)
      void this.#ended(facts.id, normal).finally(() => this.#disown(facts.id))
    }
  }

  /** One timer for all: where many hibernate it may be a thousandth of the idle time late. */
  #sweepLater(): void {
    const [first] = this.#holdings.asleep.all()
    if (this.#sweeping !== undefined || first === undefined) return
    const { idle } = this.#holdings.settings.timeouts
    const ms = Math.min(Math.max(first.until - this.#world.now(), idle / 1_000), idle / 100)
    this.#sweeping = this.#world.setTimeout(() => {
      this.#sweeping = undefined
      this.#sweep()
      this.#sweepLater()
    }, ms)
  }

  #letGo(id: string, session: SessionRef): Promise<unknown> {
    const left = leave(session).finally(() => this.#leaving.delete(id))
    this.#leaving.set(id, left)
    return left
  }

  /** Makes this node the one that serves a session. Rejects with OwnedElsewhere. */
  async #own(id: string, peer: Peer | undefined): Promise<void> {
    if (this.#cluster === undefined) return
    // from now on: it may be ours before we hear of it
    this.#owned.add(id)
    try {
      const owner = await this.#cluster.claim(id, peer)
      if (owner !== this.#cluster.node) throw new OwnedElsewhere(owner)
    } catch (error) {
      // also after a lost answer: the claim may have succeeded
      this.#disown(id)
      throw error
    }
  }

  #disown(id: string): void {
    this.#owned.delete(id)
    this.#cluster?.release(id)
  }

  /** A session that ends at this moment is restored, and asked again. */
  async #ask<Answer>(
    id: string,
    { peer, message }: { readonly peer: Peer | undefined; readonly message?: Message },
    ask: (session: SessionRef) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await ask(await this.#session(id, peer))
    } catch (error) {
      if (!hasNotBegun(error, message)) throw error
      return ask(await this.#session(id, peer))
    }
  }

  async #session(id: string, peer: Peer | undefined): Promise<SessionRef> {
    await this.#leaving.get(id)
    const session = this.#restoring.has(ownedKey(id, peer)) ? undefined : this.#find(id)
    if (session === undefined) return this.#restore(id, peer)
    if (this.#records.areShared) await session.call('adopt', (await this.#current(id, session)).record)
    return session
  }

  /** The record of a session; if another program has ended it, it ends here, too. */
  async #current(id: string, session: SessionRef | undefined): Promise<Known> {
    try {
      return await this.#records.load(id)
    } catch (error) {
      const isOver = error instanceof TransportError && error.code === 'SESSION_NOT_FOUND'
      if (isOver && session?.alive) await session.stop(normal)
      if (isOver && this.#forget(id, normal) !== undefined) this.#disown(id)
      throw error
    }
  }

  #find(id: string): SessionRef | undefined {
    return this.#registry.whereis(this.#holdings.settings.names.session(id)) as SessionRef | undefined
  }

  #noteOpen(id: string, session: SessionRef): void {
    if (session.alive) this.#open.set(id, session)
  }

  /** Brings a session back once for all messages of its owner that miss it at the same time. */
  #restore(id: string, peer: Peer | undefined): Promise<SessionRef> {
    const key = ownedKey(id, peer)
    const known = this.#restoring.get(key)
    if (known !== undefined) return known
    this.#waking.add(id)
    const restoring = this.#bringBack(id, peer).finally(() => {
      this.#restoring.delete(key)
      this.#waking.delete(id)
    })
    this.#restoring.set(key, restoring)
    return restoring
  }

  #bringBack(id: string, peer: Peer | undefined): Promise<SessionRef> {
    return this.#records.unlessEnded(id, async (isOver) => {
      const session = await this.#goOn(id, peer)
      if (isOver()) {
        // whoever has ended it did not see it yet
        await session.stop(normal).catch(() => {})
        throw noSession()
      }
      this.#noteOpen(id, session)
      return session
    })
  }

  async #goOn(id: string, peer: Peer | undefined): Promise<SessionRef> {
    const found = await this.#current(id, undefined)
    if (found.record.principal !== ownerOf(peer)) throw noSession()
    await this.#own(id, peer)
    try {
      // the node that served it before may have changed it since
      const known = this.#cluster === undefined ? found : await this.#current(id, undefined)
      return await this.#goOnWith(known, peer)
    } catch (error) {
      this.#disown(id)
      throw error
    }
  }

  async #goOnWith(known: Known, peer: Peer | undefined): Promise<SessionRef> {
    const asleep = this.#holdings.asleep.take(known.record.id)
    const session = await this.#start(known, peer, true, asleep).catch((error) => {
      if (asleep !== undefined) this.#holdings.asleep.add(asleep)
      this.#forget(known.record.id, moved)
      throw error
    })
    this.#holdings.asleep.tidy()
    try {
      await this.#begin(session, known, true)
    } catch (error) {
      session.kill() // it has no resources
      throw error
    }
    return session
  }

  async #begin(session: SessionRef, { record }: Known, restored: boolean): Promise<boolean> {
    const { definition, names } = this.#holdings.settings
    if (definition.session === undefined) return false
    const hooks = this.#registry.named<typeof hooksActor>(names.hooks)
    await hooks.call('begin', { session, id: record.id, restored }, forever)
    return true
  }

  async #start(
    { record, expiresAt }: Known,
    peer: Peer | undefined,
    restored: boolean,
    sleeper?: Asleep,
  ): Promise<SessionRef> {
    const { settings, clients } = this.#holdings
    const { names, ids, revisions } = settings
    const lifetime = Math.max(
      0,
      (expiresAt ?? Number.POSITIVE_INFINITY) - (ids === undefined ? 0 : this.#world.date()),
    )
    const dialect = dialectOf(record.revision, handshakesOf(revisions))
    if (dialect === undefined)
      throw new TransportError('SESSION_NOT_FOUND', 'the session speaks a revision that is not served')
    const asleep = sleeper?.version === record.version ? sleeper : undefined
    const input = { record, restored, asleep, lifetime, dialect, holdings: this.#holdings }
    if (sleeper === undefined && peer !== undefined && !clients.enterAs(peer, record.id)) {
      clients.leave(record.id)
      this.#disown(record.id)
      throw tooMany(clients.max)
    }
    const how = {
      id: labelOf(record.id),
      name: names.session(record.id),
      restart: 'temporary',
      shutdown: shutdownTime,
    } as const
    this.#running += 1
    try {
      this.#checkRoom()
      const { ref } = await this.#supervisor.startChild(childSpec(sessionActor, input, how))
      const session = ref as SessionRef
      session.onExit((reason) => this.#left(record.id, session, reason))
      return session
    } catch (error) {
      this.#running -= 1
      clients.leave(record.id)
      this.#disown(record.id)
      throw error
    }
  }

  /** Sessions that hibernate count as those that run. */
  #checkRoom(): void {
    const { asleep, settings } = this.#holdings
    const isFull = (): boolean => this.#running + asleep.size > settings.limits.sessions
    if (isFull()) this.#sweep()
    if (!isFull()) return
    const problem = `the server has ${settings.limits.sessions} sessions already`
    throw new TransportError('SESSION_LIMIT', problem, { retryable: true })
  }

  /** A session runs no more. */
  #left(id: string, session: SessionRef, reason: ExitReason): void {
    this.#running -= 1
    this.#silent.delete(id)
    if (this.#open.get(id) === session) this.#open.delete(id)
    if (reason === hibernated || reason === rolledBack) return this.#sweepLater()
    this.#holdings.clients.leave(id)
    void this.#ended(id, reason).finally(() => this.#disown(id))
  }

  /**
   * By exit reason:
   * - shutdown, and any exit with the group: the session may come back.
   * - crash, kill: it may come back, unless it crashed too often; then it ends for good.
   * - normal (idle, DELETE): it ends for good, unless another program may go on with it.
   */
  async #ended(id: string, reason: ExitReason): Promise<void> {
    if (reason.type === 'shutdown' || !this.#supervisor.ref.alive) return
    if (reason.type !== 'normal' && this.#holdings.restores.add(id, this.#world.now())) return
    if (reason.type === 'normal' && this.#mayGoOnElsewhere) return this.#holdings.restores.forget(id)
    await this.#end(id).catch(() => {})
  }

  get #mayGoOnElsewhere(): boolean {
    return this.#records.areShared || this.#holdings.settings.ids !== undefined
  }

  async #end(id: string, stop?: () => Promise<void>): Promise<void> {
    this.#holdings.restores.forget(id)
    await this.#records.end(id, stop)
  }
}

/** The sessions that run now. A supervisor that ends at this moment has none any more. */
export async function runningSessions(registry: Registry, names: ServerNames): Promise<SessionRef[]> {
  const supervisor = registry.whereis(names.sessions)
  if (supervisor === undefined) return []
  const children = await new DynamicSupervisor(supervisor).children().catch(() => [])
  return children.flatMap(({ ref }) => (ref === undefined ? [] : [ref as SessionRef]))
}

/** Apart from what attached it: what is kept must not lead to the connection of a client that is gone. */
function detaching(session: SessionRef, sink: Sink): () => void {
  return () => void session.cast('detach', sink)
}

/** The sessions that run now, and those that hibernate. */
export async function allSessions(registry: Registry, names: ServerNames): Promise<SessionInfo[]> {
  const running = await runningSessions(registry, names)
  const answers = await Promise.allSettled(running.map((session) => session.call('info')))
  const infos = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const holder = registry.whereis(names.holdings) as RefOf<typeof holdingsActor> | undefined
  const holdings = await holder?.call('share').catch(() => undefined)
  return [...infos, ...Array.from(holdings?.asleep.all() ?? [], infoOf)]
}

function infoOf({ facts }: Asleep): SessionInfo {
  return { ...facts, phase: 'ready', requests: 0, waiting: 0, readers: 0, ref: undefined }
}

/** Resolves when a session has ended, to be restored on another node, or goes on, as it is at work. */
async function leave(session: SessionRef): Promise<void> {
  const leaves = await session.call('leave', undefined, forever).catch(() => true)
  if (leaves) await new Promise((resolve) => session.onExit(resolve))
}

/** The revision of a session that takes this peer: rejects with why not. Undefined: it has ended. */
async function revisionFor(session: SessionRef, peer: Peer | undefined): Promise<string | undefined> {
  try {
    return await session.call('revision', peer)
  } catch (error) {
    if (!hasNotBegun(error)) throw error
    return undefined
  }
}

/**
 * Whether a session has ended, and whoever comes after it is asked the same: what had not begun, and what is no
 * message, which has no effect but its answer.
 */
function hasNotBegun(error: unknown, message?: Message): boolean {
  if (!(error instanceof RuntimeError)) return false
  if (error.code !== 'EXITED') return error.code === 'NOPROC'
  if (message === undefined) return true
  const { reason } = error.data as { readonly reason?: ExitReason }
  if (reason?.type !== 'shutdown') return false
  if (reason.detail === moved.detail || reason.detail === hibernated.detail) return true
  // a message that is no request lasts no longer than its turn
  return reason.detail === rolledBack.detail && !isRequest(message)
}

/** The answer to a request that its session could not take; throws for a notification or a response. */
function failedDelivery(message: Message, error: unknown): Response {
  if (!isRequest(message)) throw isInterruption(error) ? interruption(error) : error
  if (error instanceof McpError) return refusal(message.id, error)
  if (!(error instanceof RuntimeError)) throw error
  return tryAgain(message.id, 'The session was interrupted')
}

/** It has ended by itself meanwhile; any other fault is told as it is. */
function isInterruption(error: unknown): boolean {
  return error instanceof RuntimeError && error.code === 'EXITED'
}

function interruption(cause: unknown): TransportError {
  const problem = 'The session was interrupted: try once more'
  return new TransportError('SEND_FAILED', problem, { cause, retryable: true })
}

/** The name of a session in reports: its id is a secret of its client. */
function labelOf(id: string): string {
  return `session ${digestOf(id)}`
}

/** Messages share a restore by owner and id: a stranger's must not wait for it, nor hold it up. */
function ownedKey(id: string, peer: Peer | undefined): string {
  return `${ownerOf(peer) ?? ''} ${id}`
}

function tooMany(max: number): TransportError {
  const problem = `one client may have ${max} sessions`
  return new TransportError('CLIENT_LIMIT', problem, { retryable: true })
}

import { SessionFrame } from '../context/session-frame.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import type { JsonRpcNotification, RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { type ActorContext, lastingWorld } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import type { Registry } from '../../runtime/process/registry.js'
import { describe } from '../../runtime/watch/inspect.js'
import { type ActorRef, type ProcessRef, processOf } from '../../runtime/process/ref.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { TurnoverMap, TurnoverSet } from '../../runtime/base/turnover.js'
import type { OpenSessionFacts } from '../context/context.js'
import { EarlyCancellations } from './early-cancellations.js'
import type { Asleep } from '../holdings/hibernation.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { SessionRef } from './session-actor.js'
import { emitServer, originOf, type SessionEvent, type SessionOrigin } from '../base/events.js'
import { PlainLife, type SessionLife, type SessionPhase } from '../holdings/session-life.js'
import { SessionQuestions } from './questions.js'
import { SessionReaders } from './readers.js'
import type { SessionRequest } from './work.js'
import type { World } from '../../runtime/time/world.js'
import type { ServerError } from '../base/errors.js'
import { isRefusal } from '../engine/refusal.js'
import { SessionState } from '../context/session-state.js'
import type { SessionRecord, SessionStore } from '../engine/session-store.js'
import { tasksOf } from '../tasks/load.js'
import type { McpTasks } from '../tasks/tasks.js'
import { itself } from '../catalog/catalog.js'
import type { Peer } from '../../transports/contract/contract.js'
import { SessionWishes } from '../requests/session-wishes.js'
import { WaitingLine } from '../base/waiting-line.js'

/** The end of a session that could not be saved: it comes back as it was saved last. */
export const rolledBack = Object.freeze({ type: 'shutdown', detail: 'rolled back' } as const)
/** The end of a session that continues on another node: requests that had not begun go there. */
export const moved = Object.freeze({ type: 'shutdown', detail: 'moved' } as const)
/** The end of a process whose session hibernates: its next message brings it back. */
export const hibernated = Object.freeze({ type: 'shutdown', detail: 'hibernated' } as const)
/** The end of a session that another node has taken over: it is unknown how far its requests have come. */
export const taken: ExitReason = Object.freeze({ type: 'shutdown', detail: 'taken' })

export interface SessionInput {
  readonly record: SessionRecord
  readonly restored: boolean
  /** What is known of it, if it hibernated until now. */
  readonly asleep: Asleep | undefined
  readonly dialect: Dialect
  readonly holdings: Holdings
  /** Milliseconds after which it ends in any case. */
  readonly lifetime: number
}

/** A class, and no literal: one with a spread has a hidden class of its own in V8, of a kilobyte each. */
export class Session {
  readonly record: SessionRecord
  readonly dialect: Dialect
  readonly holdings: Holdings
  readonly self: SessionRef
  readonly origin: SessionOrigin
  readonly world: World
  readonly facts: OpenSessionFacts
  readonly frame = new SessionFrame()
  readonly state: SessionState
  readonly wishes: SessionWishes
  /** Undefined where no tool runs as a task. */
  readonly mcpTasks: McpTasks | undefined
  readonly tasks: TaskSupervisor
  readonly requests = new TurnoverMap<RequestId, SessionRequest>()
  /** Tasks that take a place among `limits.requests`. */
  readonly atWork = new TurnoverSet<ProcessRef>()
  /** Tasks that only wait for something else, such as the end of a task. */
  readonly idle = new TurnoverSet<ProcessRef>()
  readonly waiting: WaitingLine<SessionRequest>
  /** Turns among the sessions that it waits for, each to begin a request. */
  turns = 0
  readonly cancelledEarly = new EarlyCancellations()
  readonly readers: SessionReaders
  readonly questions: SessionQuestions
  /** Handlers of notifications that run now. */
  notices = 0
  /** Whether it is to go on on another node. */
  isLeaving = false
  /** When its lifetime is over. */
  readonly endsAt: number
  readonly life: SessionLife
  /** Whether its record says that the client has sent `notifications/initialized`. */
  isConfirmed: boolean
  version: number
  /** By how much the next record is newer than the last. */
  step: number
  /** Changes of state and wishes so far, and how many of them the store has acknowledged. */
  changes = 0
  saved = 0
  lastActive: number
  /** Whether its client has said anything since `initialize`, or reads. */
  isHeard: boolean
  /** When the last record that its store has acknowledged was made. */
  lastSaved: number
  /** Whether it is being saved without a change. */
  isRenewing = false
  /** Who has sent its last message, or reads: nothing but the principal. Undefined where it does not matter. */
  lastPeer: Peer | undefined = undefined
  /** The number of the last update of a resource that it has heard of. */
  heard: number
  /** Whether something would end with its process. */
  isHeld = false
  /** Whether it is being saved to hibernate. */
  isDrowsy = false
  #isBeyond = false
  /** A record that it came with, and of which it is not known yet whether its store would take it. */
  #unproven: SessionRecord | undefined

  constructor(
    { record, restored, asleep, dialect, lifetime, holdings }: SessionInput,
    ctx: ActorContext,
    tasks: ActorRef,
  ) {
    const { id, client, revision, capabilities } = record
    const self = ctx.self as SessionRef
    const world = lastingWorld(ctx.world) // what is asked of it ends with tasks, and these with the session
    const now = world.now()
    this.record = record
    this.dialect = dialect
    this.holdings = holdings
    this.self = self
    this.life = lifeOf(holdings, self)
    this.origin = originOf(self, holdings.settings.name)
    this.world = world
    this.facts = Object.freeze({ id, client, revision, capabilities })
    this.state = new SessionState(record.state)
    this.wishes = new SessionWishes(record, (uri) => wantFor(holdings, uri, id))
    this.mcpTasks = tasksOf(holdings, ctx.registry, world, tellerOf(holdings, ctx.registry, id))
    this.tasks = new TaskSupervisor(tasks, Number.POSITIVE_INFINITY)
    const { requests, waiting } = holdings.settings.limits
    this.waiting = new WaitingLine(requests + waiting, holdings.waiting)
    this.readers = new SessionReaders(record.catalog, this.origin)
    this.questions = new SessionQuestions(`${world.date().toString(36)}.${self.id}`)
    this.endsAt = now + lifetime
    this.isConfirmed = record.initialized === true
    this.version = record.version
    this.step = restored ? afterRestore : 1
    this.lastActive = now
    this.isHeard = restored
    // nobody knows how old the record is: its store may be about to forget it
    const oldest = restored ? now - holdings.settings.timeouts.idle : now
    this.lastSaved = asleep?.savedAt ?? oldest
    this.heard = holdings.asleep.lastUpdate
    if (restored) this.#unproven = record
  }

  /** Whether its store would refuse what was saved last: changes add up until it fits again. */
  get isBeyond(): boolean {
    if (this.#unproven !== undefined)
      this.#isBeyond = refusedBy(this.holdings.store, this.#unproven, {}) !== undefined
    this.#unproven = undefined
    return this.#isBeyond
  }

  /** Goes on from a record that another program has saved. */
  noteOther(record: SessionRecord): void {
    this.version = record.version
    this.#unproven = record
  }

  /** The store has acknowledged a record that was made then, with so many changes. */
  noteSaved(at: number, changes: number): void {
    this.lastSaved = Math.max(this.lastSaved, at)
    this.saved = Math.max(this.saved, changes)
    this.#isBeyond = false
    this.#unproven = undefined
  }

  get phase(): SessionPhase {
    return this.life.phase
  }

  now(): number {
    return this.world.now()
  }

  [describe](): string {
    return `${this.phase}, ${this.requests.size} in flight`
  }
}

/** Makes a session from its record. Throws RuntimeError NOPROC when its group is not complete. */
export function openSession(input: SessionInput, ctx: ActorContext): Session {
  const { restored, asleep, holdings } = input
  const tasks = ctx.registry.whereis(holdings.settings.names.tasks)
  if (tasks === undefined)
    throw new RuntimeError('NOPROC', 'a session needs the task supervisor of its group', { retryable: true })
  const session = new Session(input, ctx, tasks)
  if (restored) session.life.send('restored')
  if (asleep !== undefined) noteOwed(session, asleep)
  else if (restored) noteMissed(session)
  if (asleep !== undefined) noteSession(session, 'woken', { was: asleep.process })
  else noteSession(session, restored ? 'restored' : 'opened')
  return session
}

/** It has another process after it has hibernated: what tells of a task may last longer. */
function tellerOf({ settings }: Holdings, registry: Registry, id: string) {
  const name = settings.names.session(id)
  return (message: JsonRpcNotification): void =>
    void (registry.whereis(name) as SessionRef | undefined)?.cast('tell', message)
}

function lifeOf({ machine, settings }: Holdings, self: SessionRef): SessionLife {
  if (machine === undefined || settings.inspect === undefined) return new PlainLife()
  return machine.inspectedLife(settings.inspect, `session ${self.id}`, processOf(self).tree.world)
}

/** It is unknown what its client was notified of: each list, and each resource it wants, may have changed. */
export function noteMissed({ readers, wishes }: Session): void {
  readers.forgetTold()
  noteAllUpdated({ readers, wishes })
}

/** It was told of all that it had to be told of, but for this, and what came while it hibernated. */
function noteOwed({ readers, wishes, holdings }: Session, { owed, heard }: Asleep): void {
  for (const uri of owed) readers.noteUpdated(uri)
  const { asleep } = holdings
  for (const uri of wishes.subscriptions) if (asleep.isUpdatedAfter(heard, uri)) readers.noteUpdated(uri)
}

/** Each resource that its client wants may have changed. */
export function noteAllUpdated({ readers, wishes }: Pick<Session, 'readers' | 'wishes'>): void {
  for (const uri of wishes.subscriptions) readers.noteUpdated(uri)
}

/** A session asks for what its client has been allowed before. */
export function wantFor({ catalog }: Holdings, uri: string, session: string): (() => void) | undefined {
  return catalog.want(uri, itself, session)
}

/** What the former actor of a session may still be saving is older than what the next one saves. */
const afterRestore = 1_000_000

/** The record of a session as it is now, with the next version. */
export function recordSession(session: Session): SessionRecord {
  session.version += session.step
  session.step = 1
  return Object.freeze(recordOf(session))
}

function recordOf(session: Session): SessionRecord {
  const { facts, state, readers, wishes } = session
  const { principal } = session.record
  return {
    ...facts,
    ...(principal !== undefined && { principal }),
    version: session.version,
    ...((session.isConfirmed || session.phase === 'ready') && { initialized: true as const }),
    catalog: readers.told,
    state: Object.freeze(state.toRecord()),
    ...wishes.toRecord(),
  }
}

/** Why no store could ever save the session with this change, if so: it would be in the way of all later ones. */
export function unsavable(session: Session, key: string, value: unknown): ServerError | undefined {
  const { store } = session.holdings
  if (store.check === undefined || value === undefined || session.isBeyond) return undefined
  return refusedBy(store, { ...recordOf(session), state: { ...session.state.toRecord(), [key]: value } })
}

/** Why no store could ever save the session with what its client wants now, if so. Less would be no help. */
export function unsavableWishes(session: Session): ServerError | undefined {
  return refusedBy(session.holdings.store, recordOf(session))
}

/** What a session becomes by itself is no change that could be refused: it is asked about at its largest. */
const largest = Object.freeze({
  version: Number.MAX_SAFE_INTEGER,
  catalog: Number.MAX_SAFE_INTEGER,
  initialized: true,
  logLevel: 'emergency',
} as const)

/** Why no store could ever save a session with this record, if so. */
export function refusedBy(
  store: SessionStore,
  record: SessionRecord,
  later: Partial<SessionRecord> = largest,
): ServerError | undefined {
  try {
    store.check?.({ ...record, ...later })
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
  return undefined
}

export function noteSession(
  { origin, facts }: Pick<Session, 'origin' | 'facts'>,
  type: SessionEvent['type'],
  more: Pick<SessionEvent, 'reason' | 'was'> = {},
): void {
  emitServer('session', () => ({ ...origin, type, revision: facts.revision, ...more }))
}

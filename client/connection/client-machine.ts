import { assign, createActor, setup, type SnapshotFrom } from 'xstate'
import type { World } from '../../runtime/time/world.js'
import { apart, type MachineInspector } from '../../runtime/watch/inspector.js'
import { type BackoffOptions, pauseAfter, pauseLeft } from '../base/backoff.js'
import { invitationIn } from '../holdings/retry-budget.js'
import type { ClientState, Phase } from '../base/state.js'

/** The events of the connection machine. */
export type ConnectionEvent =
  /** The transport is there: a connection can be asked for. */
  | { readonly type: 'attached' }
  | { readonly type: 'opened' }
  /** The handshake is done. */
  | { readonly type: 'initialized' }
  /** The server wrote something that is no message before it answered the handshake. */
  | { readonly type: 'junk'; readonly reason: Error }
  /** The server has answered on the connection that was kept. */
  | { readonly type: 'resumed' }
  /** The server cannot be reached; the session may still be good. */
  | { readonly type: 'unreachable'; readonly reason: Error }
  /** The connection, or an attempt, has ended: `fatal`, or `fresh` to begin a new session at once. */
  | { readonly type: 'lost'; readonly reason: Error; readonly fatal: boolean; readonly fresh: boolean }
  /** A call or `ready()` begins to wait. */
  | { readonly type: 'awaited' }
  /** The next attempt is wanted now, also after `failed`. */
  | { readonly type: 'reconnect' }
  | { readonly type: 'close' }

/** The machine's effects; it does nothing itself. */
export interface ConnectionHost {
  awaited(): boolean
  timedOut(what: string): Error
  open(): void
  greet(): void
  /** Ready: sends what waits. */
  flush(): void
  hangUp(): void
  /** Fails the calls that wait. */
  fail(reason: Error): void
  tell(state: ClientState): void
  /** The state does not know this event, and ignores it: a bug of ours, or of a transport. */
  unexpected(event: ConnectionEvent['type'], phase: Phase): void
  crash(error: unknown): void
}

/** Nothing secret: whoever inspects a machine sees its context. */
interface ConnectionSettings {
  readonly backoff: Required<BackoffOptions>
  readonly handshakeTimeout: number
  /** Whether a connection is a child process. */
  readonly spawns: boolean
}

/** What one client brings; the machine is made once for all. */
interface Input {
  readonly settings: ConnectionSettings
  readonly host: ConnectionHost
  readonly now: () => number
  /** In ms since 1970. */
  readonly date: () => number
}

interface Context extends Input {
  reason: Error | undefined
  /** Attempts that failed since the last stable connection. */
  failures: number
  began: number | undefined
  /** Ms that the last attempt kept the machine busy. */
  busy: number
  /** Begin and end of the pause. */
  since: number
  due: number
  /** A busy server asked for this. */
  notBefore: number
  /** Whether a lost session is replaced at once: after a stable connection, or a pause. */
  fresh: boolean
}

const lost = [
  { guard: 'isFatal', target: 'failed', actions: 'noteReason' },
  // reenter: from `connecting`, too, a new connection has to be asked for.
  { guard: 'mayStartAfresh', target: 'connecting', actions: 'startAfresh', reenter: true },
  { target: 'disconnected', actions: 'setBack' },
] as const

const unreachable = { target: 'disconnected', actions: 'setBack' } as const

/** For late or repeated events. */
const nothing = {} as const
const late = { attached: nothing, awaited: nothing, reconnect: nothing } as const

/**
 * The life of a client's connection, as a state machine of xstate: for visualizers, and for tests that are
 * generated from it. What it does to the outside is done by the `host` of its input.
 */
export const connectionMachine = setup({
  types: {} as { context: Context; events: ConnectionEvent; input: Input },
  actions: {
    open: ({ context }) => context.host.open(),
    greet: ({ context }) => context.host.greet(),
    flush: ({ context }) => context.host.flush(),
    hangUp: ({ context }) => context.host.hangUp(),
    unexpected: ({ context, event, self }) =>
      context.host.unexpected(event.type, phaseOf(self.getSnapshot().value as Phase | 'idle')),
    fail: ({ context }) => context.host.fail(context.reason ?? context.host.timedOut('the connection')),
    noteReason: assign(noteReason),
    noteBeginning: assign(({ context }) => ({ began: context.now() })),
    noteEnd: assign(({ context }) => ({ began: undefined, busy: busyTime(context) })),
    startAfresh: assign(startAfresh),
    setBack: assign(setBack),
    comeSooner: assign(comeSooner),
    earnFresh: assign({ fresh: true }),
    openTookTooLong: assign(tookTooLong('the connection')),
    greetingTookTooLong: assign(tookTooLong('the answer to initialize')),
    forgetReason: assign({ reason: undefined }),
    forgetFailures: assign({ failures: 0, fresh: true }),
    startOver: assign({ reason: undefined, failures: 0, fresh: true }),
  },
  delays: {
    backoff: ({ context }) => Math.max(0, context.due - context.now()),
    handshake: ({ context }) => context.settings.handshakeTimeout,
    stable: ({ context }) => context.settings.backoff.stable,
  },
  guards: {
    isFatal: ({ event }) => event.type === 'lost' && event.fatal,
    mayStartAfresh: ({ context, event }) => event.type === 'lost' && event.fresh && context.fresh,
  },
}).createMachine({
  id: 'connection',
  context: ({ input }) => ({
    ...input,
    reason: undefined,
    failures: 0,
    began: undefined,
    busy: 0,
    since: 0,
    due: 0,
    notBefore: 0,
    fresh: true,
  }),
  initial: 'idle',
  on: { close: '.closed', '*': { actions: 'unexpected' } },
  states: {
    idle: { on: { ...late, attached: 'connecting' } },
    disconnected: {
      on: {
        lost: [{ guard: 'isFatal', target: 'failed', actions: 'noteReason' }, nothing],
        attached: nothing,
        reconnect: 'connecting',
        // reenter: the timer starts anew
        awaited: { target: 'disconnected', actions: 'comeSooner', reenter: true },
      },
      // a server that forgets each session at once gets no two without a pause
      after: { backoff: { target: 'connecting', actions: 'earnFresh' } },
    },
    connecting: {
      entry: ['noteBeginning', 'open'],
      on: { ...late, opened: 'initializing', resumed: 'ready', unreachable, lost },
      after: { handshake: { target: 'disconnected', actions: ['openTookTooLong', 'hangUp'] } },
    },
    initializing: {
      entry: 'greet',
      on: { ...late, initialized: 'ready', lost, junk: { actions: 'noteReason' } },
      after: { handshake: { target: 'disconnected', actions: ['greetingTookTooLong', 'hangUp'] } },
    },
    ready: {
      entry: ['noteEnd', 'forgetReason', 'flush'],
      on: { ...late, unreachable, lost },
      after: { stable: { actions: 'forgetFailures' } },
    },
    failed: { entry: 'fail', on: { ...late, reconnect: { target: 'connecting', actions: 'startOver' } } },
    closed: { on: { '*': nothing } },
  },
})

/** A running machine. */
export interface Connection {
  readonly phase: Phase
  readonly state: ClientState
  send(event: ConnectionEvent): void
  stop(): void
}

export interface ConnectionOptions extends ConnectionSettings {
  /** Shown to whoever inspects it. */
  readonly name: string
  readonly inspect: MachineInspector | undefined
}

export function startConnection(
  { name: id, inspect, ...settings }: ConnectionOptions,
  host: ConnectionHost,
  world: World,
): Connection {
  const { now, date } = world
  const input = { settings, host, now, date }
  const inspected = inspect !== undefined && { inspect: apart(inspect, world) }
  const actor = createActor(connectionMachine, { id, clock: world, input, ...inspected })
  keepTimersApart(actor.system)
  let told = stateOf(actor.getSnapshot())
  // without an observer for errors, xstate throws them where nobody can catch them
  actor.subscribe({
    next(snapshot) {
      const state = stateOf(snapshot)
      if (isSame(state, told)) return
      told = state
      host.tell(state)
    },
    error: (error) => host.crash(error),
  })
  actor.start()
  return {
    get phase() {
      return phaseOf(actor.getSnapshot().value)
    },
    get state() {
      return stateOf(actor.getSnapshot())
    },
    send: (event) => actor.send(event),
    stop: () => void actor.stop(),
  }
}

interface Change {
  readonly context: Context
  readonly event: ConnectionEvent
}

function noteReason({ event }: Change): Partial<Context> {
  return 'reason' in event ? { reason: event.reason } : {}
}

function startAfresh(change: Change): Partial<Context> {
  return { ...noteReason(change), fresh: false }
}

/** One more failure: a pause after what a busy server asked for, at most the highest ceiling. */
function setBack(change: Change): Partial<Context> {
  const { context } = change
  const { settings, host, failures } = context
  const noted = noteReason(change)
  const asked = Math.min(settings.backoff.cap, invitationIn(noted.reason, context.date()) ?? 0)
  const busy = busyTime(context)
  const since = context.now()
  const notBefore = since + asked
  const due = notBefore + pauseAfter({ failures, awaited: host.awaited(), busy }, settings.backoff)
  return { ...noted, failures: failures + 1, began: undefined, busy, since, notBefore, due }
}

/** Shortens a pause once somebody waits, but not below what a busy server asked for. */
function comeSooner({ context }: Change): Partial<Context> {
  const { settings, busy, notBefore, due } = context
  const from = Math.max(context.now(), notBefore)
  return { due: from + pauseLeft(Math.max(0, due - from), busy, settings.backoff) }
}

/** Ms that the last attempt kept this machine busy; only child processes do. */
function busyTime({ settings, began, busy, now }: Context): number {
  if (!settings.spawns) return 0
  return began === undefined ? busy : now() - began
}

function tookTooLong(what: string): (change: Change) => Partial<Context> {
  return (change) => ({ ...setBack(change), reason: change.context.host.timedOut(what) })
}

type MachineSnapshot = SnapshotFrom<typeof connectionMachine>

function phaseOf(value: Phase | 'idle'): Phase {
  return value === 'idle' ? 'disconnected' : value
}

function stateOf(snapshot: MachineSnapshot): ClientState {
  const { reason, failures, since, due } = snapshot.context
  const phase = phaseOf(snapshot.value)
  const waits = snapshot.value === 'disconnected'
  return Object.freeze({
    phase,
    reason,
    attempt: failures,
    delay: waits ? Math.round(due - since) : undefined,
  })
}

function isSame(a: ClientState, b: ClientState): boolean {
  return a.phase === b.phase && a.reason === b.reason && a.attempt === b.attempt && a.delay === b.delay
}

/** xstate walks its timers with `for ... in`, and so takes what is on Object.prototype for one of them. */
function keepTimersApart(system: object): void {
  const timers = Object.create(null)
  const snapshot: unknown = Reflect.get(system, '_snapshot')
  if (typeof snapshot === 'object' && snapshot !== null)
    Object.defineProperty(snapshot, '_scheduledEvents', { get: () => timers, set() {} })
}

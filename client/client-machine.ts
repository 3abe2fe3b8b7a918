import { assign, createActor, setup, type SnapshotFrom } from 'xstate'
import type { Clock } from '../runtime/clock.js'
import type { BackoffOptions } from './options.js'
import { invitationIn } from './retry-budget.js'
import type { ClientState, Phase } from './state.js'

/** What happens to a connection. */
export type ConnectionEvent =
  /** The transport is there: a connection can be asked for. */
  | { readonly type: 'attached' }
  | { readonly type: 'opened' }
  /** The handshake is done. */
  | { readonly type: 'initialized' }
  /** The connection that was kept is good again. */
  | { readonly type: 'resumed' }
  /** The server cannot be reached, though the session may still be good. */
  | { readonly type: 'unreachable'; readonly reason: Error }
  /** The connection, or the attempt to make one, has ended; `fatal`: for good; `fresh`: try again at once, with a new session. */
  | { readonly type: 'lost'; readonly reason: Error; readonly fatal: boolean; readonly fresh: boolean }
  /** Somebody wants the next attempt now, also where trying again was of no use. */
  | { readonly type: 'reconnect' }
  | { readonly type: 'close' }

/** What the machine wants done; it does nothing itself. */
export interface ConnectionEffects {
  /** Ask for a connection. */
  open(): void
  /** Begin the handshake. */
  greet(): void
  /** Ready: send what waits. */
  flush(): void
  /** The connection took too long: end it. */
  hangUp(): void
  /** Trying again is of no use: fail whoever waits. */
  fail(reason: Error): void
  /** The state has changed. */
  tell(state: ClientState): void
  /** A bug in the machine or in an effect. */
  crash(error: unknown): void
}

/** Times and chance. */
export interface ConnectionSettings {
  readonly backoff: Required<BackoffOptions>
  readonly handshakeTimeout: number
}

/** What one client brings: the machine is made once, and serves all. */
interface Input {
  readonly settings: ConnectionSettings
  readonly timedOut: (what: string) => Error
  readonly effects: ConnectionEffects
}

interface Context extends Input {
  reason: Error | undefined
  /** Attempts that failed since the last stable connection. */
  failures: number
  delay: number
  /** Whether a lost session may be answered with a new one at once; earned by a stable connection. */
  fresh: boolean
}

const lost = [
  { guard: 'isFatal', target: 'failed', actions: 'noteReason' },
  // reenter: from `connecting`, too, a new connection has to be asked for.
  { guard: 'mayStartAfresh', target: 'connecting', actions: 'startAfresh', reenter: true },
  { target: 'disconnected', actions: 'setBack' },
] as const

const unreachable = { target: 'disconnected', actions: 'setBack' } as const

const machine = setup({
  types: {} as { context: Context; events: ConnectionEvent; input: Input },
  actions: {
    open: ({ context }) => context.effects.open(),
    greet: ({ context }) => context.effects.greet(),
    flush: ({ context }) => context.effects.flush(),
    hangUp: ({ context }) => context.effects.hangUp(),
    fail: ({ context }) => context.effects.fail(context.reason ?? context.timedOut('the connection')),
    noteReason: assign(noteReason),
    startAfresh: assign(startAfresh),
    setBack: assign(setBack),
    openTookTooLong: assign(tookTooLong('the connection')),
    greetingTookTooLong: assign(tookTooLong('the answer to initialize')),
    forgetReason: assign({ reason: undefined }),
    forgetFailures: assign({ failures: 0, fresh: true }),
    startOver: assign({ reason: undefined, failures: 0, fresh: true }),
  },
  delays: {
    backoff: ({ context }) => context.delay,
    handshake: ({ context }) => context.settings.handshakeTimeout,
    stable: ({ context }) => context.settings.backoff.stable,
  },
  guards: {
    isFatal: ({ event }) => event.type === 'lost' && event.fatal,
    mayStartAfresh: ({ context, event }) => event.type === 'lost' && event.fresh && context.fresh,
  },
}).createMachine({
  context: ({ input }) => ({ ...input, reason: undefined, failures: 0, delay: 0, fresh: true }),
  initial: 'idle',
  on: { close: '.closed' },
  states: {
    idle: { on: { attached: 'connecting' } },
    disconnected: {
      on: {
        lost: [{ guard: 'isFatal', target: 'failed', actions: 'noteReason' }],
        reconnect: 'connecting',
      },
      after: { backoff: 'connecting' },
    },
    connecting: {
      entry: 'open',
      on: { opened: 'initializing', resumed: 'ready', unreachable, lost },
      after: { handshake: { target: 'disconnected', actions: ['openTookTooLong', 'hangUp'] } },
    },
    initializing: {
      entry: 'greet',
      on: { initialized: 'ready', lost },
      after: { handshake: { target: 'disconnected', actions: ['greetingTookTooLong', 'hangUp'] } },
    },
    ready: {
      entry: ['forgetReason', 'flush'],
      on: { unreachable, lost },
      after: { stable: { actions: 'forgetFailures' } },
    },
    failed: { entry: 'fail', on: { reconnect: { target: 'connecting', actions: 'startOver' } } },
    closed: {},
  },
})

/** A running machine. */
export interface Connection {
  readonly phase: Phase
  readonly state: ClientState
  send(event: ConnectionEvent): void
  stop(): void
}

/** Starts a machine with effects of its own, living by the given clock. */
export function startConnection(
  settings: ConnectionSettings,
  timedOut: (what: string) => Error,
  effects: ConnectionEffects,
  clock: Clock,
): Connection {
  const actor = createActor(machine, { clock, input: { settings, timedOut, effects } })
  let told = stateOf(actor.getSnapshot())
  // Without an observer for errors, xstate throws them where nobody can catch them.
  actor.subscribe({
    next(snapshot) {
      const state = stateOf(snapshot)
      if (isSame(state, told)) return
      told = state
      effects.tell(state)
    },
    error: (error) => effects.crash(error),
  })
  actor.start()
  return {
    get phase() {
      return phaseOf(actor.getSnapshot())
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

/**
 * One more failure: full jitter below a ceiling that doubles, so that clients of one server do not come back together; on top of what a busy
 * server asked for, up to the highest ceiling, since anybody can write a header.
 */
function setBack(change: Change): Partial<Context> {
  const { settings, failures } = change.context
  const { base, cap, random } = settings.backoff
  const ceiling = Math.min(cap, base * 2 ** failures)
  const noted = noteReason(change)
  const asked = Math.min(cap, invitationIn(noted.reason, Date.now()) ?? 0)
  return { ...noted, failures: failures + 1, delay: asked + random() * ceiling }
}

function tookTooLong(what: string): (change: Change) => Partial<Context> {
  return (change) => ({ ...setBack(change), reason: change.context.timedOut(what) })
}

type MachineSnapshot = SnapshotFrom<typeof machine>

function phaseOf({ value }: MachineSnapshot): Phase {
  return value === 'idle' ? 'disconnected' : value
}

function stateOf(snapshot: MachineSnapshot): ClientState {
  const { reason, failures, delay } = snapshot.context
  const phase = phaseOf(snapshot)
  const waits = snapshot.value === 'disconnected'
  return Object.freeze({ phase, reason, attempt: failures, delay: waits ? Math.round(delay) : undefined })
}

function isSame(a: ClientState, b: ClientState): boolean {
  return a.phase === b.phase && a.reason === b.reason && a.attempt === b.attempt && a.delay === b.delay
}

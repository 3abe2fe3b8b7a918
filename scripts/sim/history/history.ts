/**
 * What happened in a run, in the order in which it did: flat, plain data that JSON can hold. Simulations and
 * the soak write it, and the checkers judge it. Names of programs, clients, sessions and calls are unique in a
 * run; a program that is started again keeps its name.
 */
export type Event = Stamped<
  | Invoke
  | CallOk
  | CallFail
  | Cancel
  | Ran
  | RanTo
  | SessionOpened
  | SessionRestored
  | SessionReleased
  | SessionEnded
  | Saved
  | Emitted
  | Received
  | Fault
  | FaultsEnded
  | ProgramStarted
  | ProgramDied
  | PhaseChanged
  | Restarted
  | GaveUp
  | Census
  | Tables
  | Changed
  | Expired
  | SignedIn
  | Granted
  | Betrayed
  | Revoked
  | Tried
>

/** An event, and when it was. */
type Stamped<Kind> = Kind & {
  /** Milliseconds since the run began, of a clock that no fault touches. */
  readonly at: number
}

/** An event of one type. */
export type EventOf<Type extends Event['type']> = Extract<Event, { readonly type: Type }>

/** An event before it is stamped. */
export type Unstamped = Event extends infer Each ? (Each extends Event ? Omit<Each, 'at'> : never) : never

/** What a client asks its server for. */
export type Operation =
  /** Adds `token` to the list of its session. */
  | 'append'
  /** Reads the list of its session. */
  | 'read'
  | 'echo'
  | 'elicit'
  | 'sample'
  /** Works for a while, with progress and logs. */
  | 'slow'
  /** Never ends by itself. */
  | 'hang'
  | 'subscribe'
  | 'unsubscribe'
  /** Has everybody told of a change. */
  | 'touch'
  | 'list'
  | 'ping'
  | 'other'

/** A client is asked to make a call. */
export interface Invoke {
  readonly type: 'invoke'
  readonly call: string
  /** The program of the caller. */
  readonly program: string
  /** The client that was asked. */
  readonly client: string
  /** The client whose session it is, where clients share one. Default: `client`. */
  readonly via?: string
  readonly principal?: string
  readonly era: 'session' | 'modern'
  readonly operation: Operation
  /** What the handler and its answer know the call by; no two calls have the same. */
  readonly token: string
  /** Of `subscribe`, `unsubscribe` and `touch`. */
  readonly uri?: string
  /** How often its handler may run: what caller, client and revision allow. Without it, as often as may be. */
  readonly most?: number
  /** Whether handlers of this operation are told of by `ran`. */
  readonly noted: boolean
  /** The value that it has to have, if it succeeds. */
  readonly expected?: string
  /** Milliseconds within which it is settled. */
  readonly timeout: number
}

/** It resolved. */
export interface CallOk {
  readonly type: 'ok'
  readonly call: string
  readonly value?: string
  /** The list that `append` or `read` saw: the name of its session, or this name, `/` and a number. */
  readonly list?: string
  /** What the list held: all of it, after the call. */
  readonly elements?: readonly string[]
}

/** It rejected. */
export interface CallFail {
  readonly type: 'fail'
  readonly call: string
  /** Of `ClientError`; `MCP` for an answer of the server (`McpError`). */
  readonly code: string
  /** Whether the server may have seen it: `data.sent`; true for an answer of the server. */
  readonly sent: boolean
  readonly retryable?: boolean
  readonly message?: string
}

/** The caller aborts it. */
export interface Cancel {
  readonly type: 'cancel'
  readonly call: string
}

/** A handler begins. */
export interface Ran {
  readonly type: 'ran'
  readonly program: string
  /** Names this run; no two have the same. */
  readonly run: string
  readonly token: string
  readonly operation: Operation
  /** Absent in a revision without sessions. */
  readonly session?: string
  readonly principal?: string
}

/** It ends; without one it was killed, or its program died. */
export interface RanTo {
  readonly type: 'ranTo'
  readonly program: string
  readonly run: string
  readonly end: 'ok' | 'error' | 'aborted'
  readonly value?: string
}

/** A session begins: this program is its owner. */
export interface SessionOpened {
  readonly type: 'opened'
  readonly program: string
  readonly session: string
  readonly principal?: string
}

/** A program continues a session that was there before: it is the owner from now on. */
export interface SessionRestored {
  readonly type: 'restored'
  readonly program: string
  readonly session: string
  readonly principal?: string
  /** What its list holds, as far as that is known. */
  readonly elements?: readonly string[]
}

/** A session does not run there any more: idle, moved, crashed. It may be restored. */
export interface SessionReleased {
  readonly type: 'released'
  readonly program: string
  readonly session: string
  /** Of one that ended by itself, as nobody used it: ms without a word of its client, as far as that is known. */
  readonly unused?: number
}

/** A session is over for good. */
export interface SessionEnded {
  readonly type: 'ended'
  readonly program: string
  readonly session: string
}

/** The store has acknowledged what a session has. */
export interface Saved {
  readonly type: 'saved'
  readonly program: string
  readonly session: string
  /** What its list held. */
  readonly elements: readonly string[]
}

/** What travels on a stream besides answers. */
export type NoteKind = 'progress' | 'log' | 'updated' | 'listChanged'

/** A server has accepted a notification for one client; broadcasts have no event of this type. */
export interface Emitted {
  readonly type: 'emitted'
  readonly program: string
  /** What is kept in order: a request's stream, or the one of a session. */
  readonly stream: string
  /** From 1, without a gap. */
  readonly sequence: number
  readonly kind: NoteKind
  /** No two have the same. */
  readonly payload: string
  readonly session?: string
  /** Of the call that it belongs to. */
  readonly token?: string
}

/** A client's handler has it. */
export interface Received {
  readonly type: 'received'
  readonly program: string
  readonly client: string
  readonly kind: NoteKind
  /** As it was emitted, or of a broadcast its uri or what has changed. */
  readonly payload: string
  readonly broadcast: boolean
  /** The call whose `onProgress` or stream it came to. */
  readonly call?: string
  /** Of `progress`. */
  readonly progress?: number
}

/** What breaks. */
export interface Fault {
  readonly type: 'fault'
  readonly verb: Verb
  /** A program, an actor, a link `from>to`, or a store. */
  readonly target: string
  readonly detail?: string
}

/** How something breaks, and how it becomes whole again. */
export type Verb =
  | 'kill'
  | 'stop'
  | 'start'
  | 'upgrade'
  | 'freeze'
  | 'thaw'
  | 'jump'
  | 'crash'
  | 'forget'
  | 'cut'
  | 'oneWayCut'
  | 'reset'
  | 'snip'
  | 'refuse'
  | 'sip'
  | 'slow'
  | 'heal'
  | 'fail'
  | 'tear'
  | 'lose'
  | 'lag'
  | 'repair'
  | 'rotate'
  | 'revoke'

/** Nothing breaks from here on, and all that was broken is whole. */
export interface FaultsEnded {
  readonly type: 'faultsEnded'
}

/** A program runs, also again. */
export interface ProgramStarted {
  readonly type: 'started'
  readonly program: string
}

/** A program ends without goodbye: calls of its clients have no outcome, and its memory is lost. */
export interface ProgramDied {
  readonly type: 'died'
  readonly program: string
}

/** The state of a client changes. */
export interface PhaseChanged {
  readonly type: 'phase'
  readonly program: string
  readonly client: string
  readonly phase: string
  readonly code?: string
}

/** A supervisor starts a child again, or tries to. */
export interface Restarted {
  readonly type: 'restarted'
  readonly program: string
  readonly supervisor: string
  readonly child: string
  /** Children that are started again together, for one crash, have the same. */
  readonly round: number
  /** When it was noticed that the child had ended. Default: `at`. */
  readonly since?: number
  /** It did not start, which counts as well. */
  readonly failed?: boolean
  /** Restarts allowed within `period` ms. */
  readonly intensity: number
  readonly period: number
}

/** A supervisor has no restart left, and ends. */
export interface GaveUp {
  readonly type: 'gaveUp'
  readonly program: string
  readonly supervisor: string
  readonly intensity: number
  readonly period: number
}

/** What a program holds. */
export interface Census {
  readonly type: 'census'
  readonly program: string
  /** Before anything was asked of it, when all has calmed down, and after all was closed. */
  readonly when: 'base' | 'calm' | 'end'
  /** By name: timers, actors, monitors, parked calls, sizes of maps, open sockets. */
  readonly counts: Readonly<Record<string, number>>
}

/** How many entries the maps and sets of a program have. */
export interface Tables {
  readonly type: 'tables'
  readonly program: string
  /** Before anything was asked of it; or when all that came has gone, and a while has passed. */
  readonly when: 'fresh' | 'rest'
  /** By who made them. */
  readonly counts: Readonly<Record<string, number>>
}

/** A resource changes, and all has been calm for a while: who has subscribed to it is told. */
export interface Changed {
  readonly type: 'changed'
  /** The server. */
  readonly program: string
  readonly uri: string
  /** Clients that would hear of it if they have subscribed. */
  readonly clients: readonly string[]
}

/** What somebody holds for a time is taken from them, as its time is over. */
export interface Expired {
  readonly type: 'expired'
  /** Who held it. */
  readonly program: string
  readonly what: 'claim' | 'lease'
  /** Of a claim. */
  readonly session?: string
  /** ms for which the program has shown without a break that it lives, or that nothing was broken around it. */
  readonly alive: number
}

/** A person is asked to sign in. */
export interface SignedIn {
  readonly type: 'signIn'
  /** The program of the client that asks. */
  readonly program: string
  readonly principal: string
}

/** An authorization server gives out an access token. */
export interface Granted {
  readonly type: 'granted'
  readonly program: string
  readonly principal: string
  /** The program that asked for it. */
  readonly client: string
  readonly grant: 'client_credentials' | 'authorization_code' | 'refresh_token'
}

/** A refresh token is used although what came of it was used before. */
export interface Betrayed {
  readonly type: 'betrayed'
  readonly program: string
  readonly principal: string
}

/** All tokens of a principal are no good any more. */
export interface Revoked {
  readonly type: 'revoked'
  readonly program: string
  readonly principal: string
}

/** Somebody sends a request with what is not theirs, or no good. */
export interface Tried {
  readonly type: 'tried'
  /** The program that tries. */
  readonly program: string
  /** The server that is asked. */
  readonly server: string
  /** What is wrong with the request. */
  readonly what: string
  /** The session that it names. */
  readonly session?: string
  /** Absent where no answer came. */
  readonly status?: number
  /** The code of the JSON-RPC error that the answer is. */
  readonly error?: number
}

/** What a run says of itself besides, for the checkers. */
export interface Facts {
  /**
   * What a session is worth when the program that owns it dies: nothing (`memory`), or all that was
   * acknowledged (`durable`). Where its id outlives memory (sealed ids), its list begins anew then.
   */
  readonly store: 'memory' | 'durable'
  /**
   * One program at a time has a session (`exclusive`), or they take turns in one that they share (`turns`), or
   * one takes it from another that cannot be heard, which saves nothing from then on (`fenced`).
   */
  readonly owners: 'exclusive' | 'turns' | 'fenced'
  /** Whether events of the same time and different programs stand in their true order. */
  readonly ordered: boolean
  /** Programs whose clients have no handler of these kinds: what is sent to them arrives nowhere. */
  readonly deaf?: ReadonlyMap<string, ReadonlySet<NoteKind>>
  /** Streams that may lose events in their middle. */
  readonly lossyStreams?: ReadonlySet<string>
  /** Streams whose every event has to arrive, up to the last one. */
  readonly wholeStreams?: ReadonlySet<string>
  /**
   * Clients that keep their session when a connection or a server program ends; a new list after one that was
   * theirs is a loss.
   */
  readonly lasting?: ReadonlySet<string>
  /** Milliseconds by which a call may be settled after its timeout. */
  readonly lateBy: number
  /** Milliseconds after all faults within which all are ready, calls settled and queues empty. */
  readonly calmWithin: number
  /** Clients that are there in the end. Without it those of any `phase`, unless their program died last. */
  readonly clients?: readonly string[]
  /** Clients whose end is to fail, by what was planned for them. */
  readonly doomed?: ReadonlySet<string>
  /** Milliseconds within which a client hears of a change. */
  readonly toldWithin?: number
  /** Milliseconds that servers keep sessions which nobody uses, by program. */
  readonly idle?: ReadonlyMap<string, number>
  /** Names of counts that are 0 when all has calmed down: queues. */
  readonly queues: readonly string[]
  /** ms that tokens live, and whether who has signed in gets more without. Default: grants are not judged. */
  readonly tokens?: { readonly lifetime: number; readonly refreshes: boolean }
  /** By how much a count may be above its base in the end. Default: 0. */
  readonly slack?: Readonly<Record<string, number>>
  /** By how many entries tables may have grown at rest, by who made them. Default: 0. */
  readonly room?: Readonly<Record<string, number>>
  /** The same for some programs. */
  readonly rooms?: ReadonlyMap<string, Readonly<Record<string, number>>>
}

/** What is wrong, and the events that prove it. */
export interface Violation {
  /** The checker that found it. */
  readonly checker: string
  /** What kind of wrong, in a few words; the same fault has the same. */
  readonly kind: string
  readonly message: string
  /** Indices in the history. */
  readonly events: readonly number[]
}

/** Judges a history. */
export type Checker = (history: readonly Event[], facts: Facts) => Violation[]

/** Takes down what happens. */
export class Recorder {
  readonly events: Event[] = []
  /** Told of each event as it is added. */
  onEvent: ((event: Event) => void) | undefined
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Adds it to the end, as of now. */
  add(event: Unstamped): void {
    const stamped: Event = { ...event, at: this.#now() }
    this.events.push(stamped)
    this.onEvent?.(stamped)
  }
}

/** Histories of several writers as one, by their times; what has the same time stays in the order given. */
export function merge(...histories: readonly (readonly Event[])[]): Event[] {
  return histories.flat().sort((a, b) => a.at - b.at)
}

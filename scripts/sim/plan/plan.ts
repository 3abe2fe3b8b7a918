import type { HttpServeOptions, ServerOptions } from '../../../index.js'
import type { Revision } from '../../../protocol/dialects/dialect.js'

/** What is to happen in a run: plain data, drawn from a seed. With faults taken out it is a plan, too. */
export interface Plan {
  readonly seed: number
  /** Simulated ms in which acts and faults begin. */
  readonly length: number
  /** Whether sessions outlive the program that has them. */
  readonly store: 'memory' | 'durable'
  /** Authorization servers; none in plans without tokens. */
  readonly issuers: readonly IssuerPlan[]
  readonly servers: readonly ServerPlan[]
  readonly clients: readonly ClientPlan[]
  readonly acts: readonly Act[]
  readonly faults: readonly FaultPlan[]
  /** What somebody else tries. */
  readonly intrusions: readonly Intrusion[]
}

export interface ServerPlan {
  readonly name: string
  readonly address: string
  readonly port: number
  /** Revisions that it speaks. */
  readonly revisions: readonly Revision[]
  /** Whether ids of its sessions are sealed, with keys that outlive programs. */
  readonly sealed: boolean
  /** Whether what calls of 2026-07-28 bring back is sealed with keys that outlive programs. */
  readonly keyed: boolean
  /** Whether sessions have hooks. */
  readonly hooks: boolean
  /** Small enough to be reached. */
  readonly limits: NonNullable<ServerOptions['limits']>
  readonly timeouts: NonNullable<ServerOptions['timeouts']>
  readonly http: HttpPlan
  /** The authorization server whose tokens it wants. Default: it lets everybody in. */
  readonly issuer?: string
  /** What stands behind its address. Default: one program. */
  readonly cluster?: ClusterPlan
}

/** Several programs that share their sessions through an engine. */
export interface ClusterPlan {
  readonly nodes: readonly NodePlan[]
  /** ms. */
  readonly lease: number
  /** Whether what they say to each other is signed. */
  readonly signed: boolean
  readonly maxInbox: number
  /** How many requests a connection may carry, until the next one goes to any of them. Default: any number. */
  readonly requests?: number
}

export interface NodePlan {
  readonly name: string
  readonly address: string
}

/** Whether something that breaks is this server, or one of its nodes. */
export function isOf(server: string, target: string): boolean {
  return target === server || target.startsWith(`${server}.`)
}

/** What the engine of a server is called where it breaks. */
export function engineOf(server: string): string {
  return `${server} engine`
}

export interface IssuerPlan {
  readonly name: string
  readonly address: string
  readonly port: number
  /** Seconds that tokens live. */
  readonly lifetime: number
  /** Whether servers check tokens themselves, or ask. */
  readonly tokens: 'jwt' | 'opaque'
  /** Whether those who sign in get refresh tokens. */
  readonly refreshes: boolean
  /** Share of requests that are answered wrongly. */
  readonly mishaps: number
}

/** Options of its listener. */
export interface HttpPlan {
  readonly streams?: NonNullable<HttpServeOptions['streams']>
  readonly limits?: { readonly requestsPerClient?: number }
}

export interface ClientPlan {
  readonly name: string
  readonly address: string
  /**
   * One client; a pool of them; one for each of several servers (`fleet`); or a new one for each call
   * (`task`).
   */
  readonly kind: 'client' | 'pool' | 'fleet' | 'task'
  /** The server it calls; of a fleet the first one. */
  readonly server: string
  /** Of a fleet: all of its servers. */
  readonly servers?: readonly string[]
  readonly era: 'handshake' | 'auto' | 'modern'
  readonly health: boolean
  /** Members of a pool. */
  readonly size?: number
  /** Of calls that say nothing about it. */
  readonly retry?: RetryPlan
  /** Calls that a busy server refused and that are made again, in a minute. */
  readonly budget?: number
  readonly maxInFlight?: number
  /** Connections for requests. */
  readonly connections?: number
  /** Who it calls as, where its server wants tokens. */
  readonly principal?: string
  readonly grant?: 'client_credentials' | 'authorization_code'
  /** Whether all clients of the principal keep their tokens in one place, which outlives them. */
  readonly vault?: boolean
}

export type RetryPlan = 'safe' | 'never' | { readonly attempts: number; readonly safe: boolean }

/** Something that a client is asked to do. */
export interface Act {
  readonly id: number
  /** Simulated ms from the beginning. */
  readonly at: number
  readonly client: string
  readonly operation: ActKind
  /** ms. */
  readonly timeout: number
  /** ms until the caller gives it up. Default: never. */
  readonly patience?: number
  /** Of a fleet: which of its servers. */
  readonly server?: string
  /** How often it is done at once. Default 1. */
  readonly count?: number
  readonly retry?: RetryPlan
  /** Not to wait for a connection. */
  readonly impatient?: boolean
  /** Whether progress gives it more time. */
  readonly prolonged?: boolean
  /** Of `big` bytes; of `slow` steps. */
  readonly size?: number
  /** Of `slow` and `defer`: ms. */
  readonly ms?: number
  /** Of `subscribe`, `unsubscribe` and `touch`. */
  readonly uri?: string
}

/** A request with what is not the sender's, or no good. */
export interface Intrusion {
  readonly id: number
  /** Simulated ms from the beginning. */
  readonly at: number
  readonly kind: IntrusionKind
}

export type IntrusionKind =
  /** No token, in the session of somebody. */
  | 'none'
  /** A good token of somebody else, in the session of somebody. */
  | 'session'
  /** The same, to read a stream of that session again. */
  | 'events'
  /** The same, to end that session. */
  | 'end'
  /** A token that has expired. */
  | 'stale'
  /** A token that was revoked. */
  | 'revoked'
  /** A token that somebody else has signed. */
  | 'forged'
  /** A good token for another server. */
  | 'elsewhere'

export type ActKind = CallKind | 'reconnect' | 'follow' | 'change'

/** What a client asks its server for. */
export type CallKind =
  | 'append'
  | 'read'
  | 'echo'
  | 'once'
  | 'elicit'
  | 'sample'
  | 'roots'
  | 'steps'
  | 'slow'
  | 'hang'
  | 'big'
  | 'defer'
  | 'resource'
  | 'prompt'
  | 'complete'
  | 'list'
  | 'pages'
  | 'ping'
  | 'touch'
  | 'subscribe'
  | 'unsubscribe'
  | 'level'
  /** A pool lends a member for several calls. */
  | 'transaction'

/** Something breaks, and after `lasts` ms it is whole again. */
export interface FaultPlan {
  readonly id: number
  readonly at: number
  readonly lasts: number
  readonly verb: FaultVerb
  /** A program; of a link one of its ends, of a store `store`, of a cluster its engine. */
  readonly target: string
  /** The other end of a link. */
  readonly other?: string
  /** Of `jump` ms, of `crash` which process, of `snip` and `sip` bytes. */
  readonly amount?: number
  /** Of `crash`: how often, evenly over `lasts`. Default 1. */
  readonly times?: number
}

export type FaultVerb =
  /** A program dies without goodbye, and is started again. */
  | 'kill'
  /** So does its machine: nobody answers for it. */
  | 'power'
  | 'freeze'
  /** Its clock is set. */
  | 'jump'
  /** It stops in order, and its next version starts. */
  | 'upgrade'
  /** A process of its tree is killed. */
  | 'crash'
  | 'cut'
  | 'oneWayCut'
  /** All connections between two programs end. */
  | 'reset'
  /** The next one that carries so many bytes from one to the other ends after them. */
  | 'snip'
  /** Nobody new is let in. */
  | 'refuse'
  /** A program reads so few bytes per ms. */
  | 'sip'
  /** A link has little room, much delay, or loses much. */
  | 'slow'
  | 'delay'
  | 'loss'
  /** The store refuses, does what it says it has not done, or takes its time. */
  | 'fail'
  | 'lose'
  | 'lag'
  /** The engine of a cluster ends and begins again with what it had; it takes its time; it does nothing. */
  | 'away'
  | 'tardy'
  | 'stall'
  /** Another one takes its place, which has not heard of the last second. */
  | 'failOver'
  /** It forgets everything. */
  | 'wipe'
  /** What it has done is not told, and the connection ends. */
  | 'untold'
  /** Its bells are lost, or ring in vain. */
  | 'mute'
  /** A node and its engine do not hear each other: nothing of it, commands, answers, or bells. */
  | 'part'
  /** The keys of an authorization server change. */
  | 'rotate'
  /** Tokens are taken back. */
  | 'revoke'

/** What of a plan is to happen; all of what is not named. */
export interface Selection {
  readonly faults?: ReadonlySet<number> | undefined
  readonly acts?: ReadonlySet<number> | undefined
  /** How long faults last instead, in ms. */
  readonly lasts?: ReadonlyMap<number, number> | undefined
}

/** The plan with these of its faults and acts alone. */
export function only(plan: Plan, { faults, acts, lasts }: Selection): Plan {
  return {
    ...plan,
    faults: plan.faults
      .filter(({ id }) => faults === undefined || faults.has(id))
      .map((fault) => ({ ...fault, lasts: lasts?.get(fault.id) ?? fault.lasts })),
    acts: plan.acts.filter(({ id }) => acts === undefined || acts.has(id)),
  }
}

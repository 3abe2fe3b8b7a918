import type { ActorContext } from '../../runtime/process/context.js'
import type { Secrets } from '../base/sealing.js'
import type { SessionRecord } from './session-store.js'
import type { SealedIds } from './sealed-ids.js'

/**
 * An engine of several nodes, for the option `engine`: it is opened when the server starts, as `redis()`
 * returns it. `engineSuite` of `caduceus/testing` tests all of this contract.
 */
export interface ClusterEngine {
  /** Shown in trees, reports and errors: `redis 10.0.0.5:6379`, without a password. */
  readonly name: string
  /** What the nodes of this cluster agree on. */
  readonly settings: ClusterSettings
  /** Ids that say what a session is. Default: random ones. */
  readonly ids?: SealedIds | undefined
  /** As `redis()` was given them: processes that serve together make it again. */
  readonly options?: object | undefined
  /**
   * Throws for a session that `save` would never take, such as one that is too large: asked at once, before a
   * change counts, so that `ctx.update` rejects with BAD_STATE. The record may be a little larger than the one to
   * be saved. After what `save` refuses with ServerError BAD_STATE the session is as it was saved last,
   * and its calls under way fail.
   */
  check?(record: SessionRecord): void
  /**
   * Connects. The engine ends with the scope of `ctx` (`ctx.own`): from then on `isUp` is false. Rejects with
   * TransportError CLUSTER_UNAVAILABLE when it cannot be reached within 5 s, and with ServerError BAD_OPTION when
   * it cannot do what is needed. May be called again, for a server that is started again.
   */
  open(ctx: ActorContext, as: NodeName): Promise<Engine>
}

/** Who opens an engine. */
export interface NodeName {
  readonly node: string
  /** The name of the server's definition: nodes of other servers are of other clusters. */
  readonly server: string
}

/** What the nodes of a cluster have in common. */
export interface ClusterSettings {
  /** Milliseconds from its last beat until a node owns nothing any more. */
  readonly lease: number
  /** What nodes sign with what they write; the first signs, all are taken. Undefined: nothing is signed. */
  readonly keys: readonly string[] | undefined
  /** Texts that may wait for one node: more are refused until there is room. */
  readonly maxInbox: number
  /**
   * Whether only this program and its processes reach it: then nothing has to be signed, and who is not there any
   * more has ended, also before its lease is over. Default false.
   */
  readonly isPrivate?: boolean
  /** What cursors and `requestState` are sealed with. Default: `keys`, else what the nodes agree on. */
  readonly secrets?: Secrets | undefined
}

/**
 * Where the nodes of a cluster keep what they share.
 *
 * - Each method is done at once or not at all: of what nodes ask at the same time, one is done after the other.
 * - A method that cannot be done rejects with TransportError CLUSTER_UNAVAILABLE (`retryable`), as does one
 *   that may have been done and was not answered: within 0.4 of a lease, but 1 s at least, and at once while
 *   `isUp` is false. A record that it will never take is refused with ServerError BAD_STATE, at once.
 *   An engine sends nothing twice: nodes ask again where they have to, also for what was done. Then `claim` makes
 *   a new epoch, and what is sent, published or appended is there twice, which nodes see.
 * - What has expired is not there: it is not loaded, owned or counted, and leaves room. Times are in ms by the
 *   clock of the engine, may have fractions, and may be Infinity, as may limits.
 * - What is lost may be restored: nodes see it by `run`, and claim with `mayRestore`. An engine whose `run` never
 *   changes is never asked for that.
 * - Texts are any, without U+0000; records have up to some MiB, names of sessions up to 720 characters.
 * - Sessions stand for tasks, too, whose names begin with `taskMark`; tasks do not count as sessions, and
 *   none is in the room that sessions have.
 */
export interface Engine {
  /** False while it is known to be away: at the latest once something was not answered. It connects by itself. */
  readonly isUp: boolean
  /** Why it may lose what nodes keep, and what to do; undefined: it keeps what it is given, as far as it says. */
  readonly risk: string | undefined
  /** Hears each change of `isUp`, until the returned function is called. */
  onHealth(fn: (isUp: boolean) => void): () => void
  /**
   * Reports that this node's inbox may have something (`inbox`), that there is news (`news`), or that a node has
   * ended or left (`nodes`, optional). A bell may be lost, or ring in vain: nodes also look from time to time.
   */
  onBell(fn: (bell: Bell) => void): () => void

  /**
   * Renews the lease of a node for `lease` ms, and tells who is there. While its own listener for bells is not
   * connected, `isUp` is false and it rejects. An engine that knows who listens gives nodes that do not 1 s
   * at most, also the one that asks: their end is known sooner.
   */
  beat(node: string, lease: number, facts: NodeFacts): Promise<Members>
  /**
   * A node goes in order: its sessions are anybody's at once, those without a record are gone. Its inbox
   * stays.
   */
  leave(node: string): Promise<void>

  /**
   * Makes a node the owner of a session, unless the lease of another owner holds. A session that it owns already
   * is claimed anew. Who claims is there: if its lease does not hold, as the engine has lost it, one of `lease` ms
   * begins.
   */
  claim(claim: ClaimRequest): Promise<Claimed>
  /**
   * Whether a claim still holds. With `mayRestore`, what the engine does not know any more is brought back: the
   * claim and the record, unless there is a record with a higher version.
   */
  reclaim(claim: ClaimRequest, held: HeldClaim): Promise<boolean>
  /**
   * The session is anybody's, if the node owns it with this epoch or an older one. A node that does not know its
   * epoch, as the answer to `claim` was lost, takes Number.MAX_SAFE_INTEGER.
   */
  release(node: string, session: string, epoch: number): Promise<void>
  /** The node that owns a session, whether its lease holds or not; it claims nothing. */
  ownerOf(session: string): Promise<string | undefined>
  /** The text of a session's record. */
  load(session: string): Promise<string | undefined>
  /**
   * Keeps a record, unless there is one with a higher version. False: the node does not own the session with this
   * epoch any more, and nothing was saved.
   */
  save(node: string, session: string, epoch: number, saved: SavedRecord): Promise<boolean>
  /** Forgets a session that this node owns, and its streams; false as above. */
  delete(node: string, session: string, epoch: number): Promise<boolean>
  /** Sessions that are in use stay for `ttl` ms more. */
  touch(sessions: readonly string[], ttl: number): Promise<void>

  /**
   * Up to `max` tasks that nobody works on: those of nodes whose lease is over, and those that a node had when it
   * left. One that was released is at its end, and is none of them.
   */
  orphans(max: number): Promise<readonly string[]>
  /** The versions of the records of sessions, in their order; undefined where there is none. */
  versions(sessions: readonly string[]): Promise<readonly (number | undefined)[]>
  /**
   * What was saved under the name of a list and has not expired, by when it was to expire when it was saved first;
   * up to `size`, after the one that the last page ended with.
   */
  listed(list: string, after: Listed | undefined, size: number): Promise<readonly Listed[]>

  /**
   * Puts texts into the inbox of a node, in order: all or none. `gone`: its lease is over. `full`: more than `max`
   * would wait. They wait for an hour at least, whether the node is there or not.
   */
  send(to: string, from: string, texts: readonly string[], max: number): Promise<'taken' | 'full' | 'gone'>
  /** Takes what waits, in order; what was taken is in the inbox no more. */
  take(node: string, max: number): Promise<readonly string[]>
  /** Takes back what a node has not taken of what `from` sent to it. */
  takeBack(node: string, from: string): Promise<readonly string[]>

  /** Tells all nodes, also this one; answers its number, from 1 without a gap. The last 100 at least are kept. */
  publish(text: string): Promise<number>
  /** What was published after a number. `isGap`: what came right after it is not kept any more. */
  news(after: number): Promise<News>

  /**
   * What all nodes keep to: the first that was proposed, for as long as one of them asks again within `ttl` ms.
   */
  agree(proposal: string, ttl: number): Promise<string>

  /**
   * What is kept under a key, for all nodes: logins of users. Keys are digests, and texts are sealed.
   */
  value(key: string): Promise<string | undefined>
  /**
   * Keeps a text for `ttl` ms if what is there is `was`; undefined stands for nothing, also as `text`. False:
   * something else is there, and nothing was done.
   */
  setValue(key: string, was: string | undefined, text: string | undefined, ttl: number): Promise<boolean>

  /** Notes which node an event log belongs to, for `ttl` ms; '' once that has left in order. */
  placeLog(log: string, node: string, ttl: number): Promise<void>
  placeOfLog(log: string): Promise<string | undefined>
  /**
   * Adds to a stream; false when it was closed, and nothing was added. Without entries it only keeps the stream
   * for `ttl` ms more. An entry may be added again, when an answer was lost: readers skip it.
   */
  append(stream: StreamPlace, entries: readonly StreamEntry[], limits: StreamLimits): Promise<boolean>
  /**
   * Closes a stream for its writer, and answers what is kept of it, each time. One of which nothing is kept stays
   * closed for a minute at least.
   */
  closeStream(stream: StreamPlace): Promise<readonly StreamEntry[]>
  dropStream(stream: StreamPlace): Promise<void>
}

/** What a node is to look at: its inbox, the news, or which nodes are there. */
export type Bell = 'inbox' | 'news' | 'nodes'

/** What others see of a node. */
export interface NodeFacts {
  readonly isRetiring: boolean
  /** Whether it has been there for a lease: a node that it has not seen by then has ended. */
  readonly isSettled: boolean
  /** When it came, in ms by the clock of the engine; undefined at its first beat. */
  readonly joinedAt?: number | undefined
  /** Whether it serves no sessions, as nodes that it cannot talk to were there before it. */
  readonly defers?: boolean
  readonly sessions: number
  /** How often the node has begun anew, from 1: what it and others had sent each other before is lost. */
  readonly incarnation: number
  /** Of the keys that it takes, the one that it signs with first: see `Seal`. */
  readonly marks: readonly string[]
}

/** The nodes that are there, as the engine knows them. */
export interface Members {
  /** The same for as long as the engine has lost nothing: another one after a restart or a fail-over. */
  readonly run: string
  /** Those whose lease holds, with this one. */
  readonly nodes: readonly (NodeFacts & { readonly name: string })[]
  /** The number of the last news. */
  readonly news: number
  /** Milliseconds that the lease was renewed for: less than was asked for where nobody listens for bells. */
  readonly lease: number
  /** By the clock of the engine, in ms. */
  readonly now: number
}

/** What a node says of itself and of a session when it claims it. */
export interface ClaimRequest {
  readonly node: string
  /** Milliseconds that the node is not taken for gone. */
  readonly lease: number
  readonly session: string
  /** Who the session counts for; undefined: nobody. */
  readonly client: string | undefined
  /** Milliseconds that the session is kept, unless it is saved or touched. */
  readonly ttl: number
  /** Of all nodes. With 0 only sessions that are there already are claimed: it asks whose a session is. */
  readonly maxSessions: number
  readonly maxPerClient: number
  /** Whether it may be taken from a node whose lease is over. */
  readonly mayTakeOver: boolean
}

/** What became of a claim: it holds, another node has the session, or there is no room. */
export type Claimed =
  /** Each claim of a session has a higher epoch than the one before. */
  | { readonly type: 'claimed'; readonly epoch: number }
  | { readonly type: 'owned'; readonly node: string }
  | { readonly type: 'full'; readonly of: 'sessions' | 'client' }

/** What the owner of a session knows of it. */
export interface HeldClaim {
  readonly epoch: number
  /** Whether the engine may have lost it, as its run is another one: otherwise what is not there has ended. */
  readonly mayRestore: boolean
  /** What was saved last, if anything was. */
  readonly saved: SavedRecord | undefined
}

/** A record of a session as an engine keeps it. */
export interface SavedRecord {
  readonly text: string
  readonly version: number
  /** Milliseconds that the session is kept from now on. */
  readonly ttl: number
  /** The name of a list that it is found by until then (`listed`). */
  readonly list?: string | undefined
}

/** One of a list, and its place there. */
export interface Listed {
  readonly session: string
  readonly place: number
}

/** What the names of tasks begin with: no header has it, and so no session. */
export const taskMark = 'task\n'

/** What was told to all nodes since; with a gap where some of it is lost. */
export interface News {
  readonly texts: readonly string[]
  readonly last: number
  readonly isGap: boolean
}

/** A stream of a session, by its name. */
export interface StreamPlace {
  readonly session: string
  readonly stream: string
}

/** The number grows within a stream. */
export interface StreamEntry {
  readonly number: number
  readonly text: string
}

/** How much of a stream is kept, and for how long. */
export interface StreamLimits {
  readonly maxEntries: number
  /** Milliseconds after the last entry. */
  readonly ttl: number
}

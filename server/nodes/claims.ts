import { createHash } from 'node:crypto'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { TransportError } from '../../transports/base/errors.js'
import { isThisMachine, networkOf } from '../../transports/base/network.js'
import { usualPerClient } from '../../transports/connections/client-counts.js'
import type { Peer } from '../../transports/contract/contract.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'
import type { Claimed, ClaimRequest, Engine, SavedRecord } from '../engine/engine.js'
import { isUnavailable } from './unavailable.js'

interface ClaimLimits {
  /** Milliseconds of a lease. */
  readonly lease: number
  readonly maxSessions: number
  readonly maxSessionsPerClient: number | undefined
  /** Milliseconds that a session is kept without its owner. */
  readonly ttl: number
}

interface ClaimWish {
  readonly peer: Peer | undefined
  readonly mayTakeOver: boolean
  /** Milliseconds that it is kept, if not as long as sessions are. */
  readonly ttl?: number
}

/** A session that this node owns, as far as it knows. */
interface Claim {
  readonly request: ClaimRequest
  /** Undefined when the answer was lost. */
  readonly epoch: number | undefined
  /** What was saved last. */
  saved: SavedRecord | undefined
}

/** How claims are confirmed with the engine. */
export interface Reclaim {
  /** Whether the engine may have lost it, and is given it again. */
  readonly mayRestore: boolean
  /** Rejects if the engine may have lost what it was asked for. */
  readonly confirm: () => Promise<void>
  /** Called at once for each that another node has taken over. */
  readonly lost: (session: string) => void
}

/** Releases that are tried again once the engine is back; the claims of others expire. */
const maxUnreleased = 10_000
/** Sessions that are reclaimed at once. */
const atOnce = 64
/** Sessions in one `touch`. */
const touched = 500

/** The sessions that this node has claimed, with epoch and last record. */
export class Claims {
  readonly #node: string
  readonly #limits: ClaimLimits
  readonly #held = new TurnoverMap<string, Claim>()
  /** Releases that are under way: a claim comes after them. */
  readonly #releasing = new Map<string, Promise<void>>()
  /** The epochs of sessions whose release has failed. */
  readonly #unreleased = new Map<string, number>()

  constructor(node: string, limits: ClaimLimits) {
    this.#node = node
    this.#limits = limits
  }

  get size(): number {
    return this.#held.size
  }

  get names(): readonly string[] {
    return this.#sessions()
  }

  get(session: string): Claim | undefined {
    return this.#held.get(session)
  }

  /** Whose a session is, without claiming one that is not there. */
  async ask(engine: Engine, session: string, mayTakeOver: boolean): Promise<Claimed> {
    await this.#releasing.get(session)
    return engine.claim({ ...this.#request(session, undefined, mayTakeOver), maxSessions: 0 })
  }

  /**
   * Rejects with SESSION_LIMIT, CLIENT_LIMIT and CLUSTER_UNAVAILABLE: then it is unknown whether it was
   * claimed.
   */
  async claim(
    engine: Engine,
    session: string,
    { peer, mayTakeOver, ttl }: ClaimWish,
  ): Promise<Exclude<Claimed, { readonly type: 'full' }>> {
    await this.#releasing.get(session)
    // what is released from now on is this claim
    this.#unreleased.delete(session)
    const usual = this.#request(session, peer, mayTakeOver)
    const request = ttl === undefined ? usual : { ...usual, ttl }
    const claimed = await engine.claim(request).catch((error) => {
      this.#held.set(session, { request, epoch: undefined, saved: this.#held.get(session)?.saved })
      throw error
    })
    if (claimed.type === 'full') throw this.#full(claimed.of)
    if (claimed.type === 'claimed') this.#note(session, request, claimed.epoch)
    return claimed
  }

  release(engine: Engine | undefined, session: string): void {
    const held = this.#held.get(session)
    if (held === undefined) return
    this.#held.delete(session)
    this.#letGo(engine, session, held.epoch ?? Number.MAX_SAFE_INTEGER)
  }

  /** Tries again what has failed. */
  releaseRest(engine: Engine | undefined): void {
    const rest = [...this.#unreleased]
    this.#unreleased.clear()
    for (const [session, epoch] of rest) this.#letGo(engine, session, epoch)
  }

  /** It is another node's. */
  forget(session: string): void {
    this.#held.delete(session)
  }

  /** Answers which ones there were. */
  forgetAll(): readonly string[] {
    const sessions = this.#sessions()
    for (const session of sessions) this.#held.delete(session)
    this.#unreleased.clear()
    return sessions
  }

  /** Asks for all again. Rejects with CLUSTER_UNAVAILABLE. */
  async reclaim(engine: Engine, { mayRestore, confirm, lost }: Reclaim): Promise<void> {
    const sessions = this.#sessions()
    const next = async (): Promise<void> => {
      for (let session = sessions.pop(); session !== undefined; session = sessions.pop()) {
        const claim = this.#held.get(session)
        if (claim?.epoch === undefined) continue
        const { request, epoch, saved } = claim
        if (await engine.reclaim(request, { epoch, mayRestore, saved })) continue
        if (!mayRestore) await confirm()
        // it may have been claimed anew meanwhile
        if (this.#held.get(session) !== claim) continue
        this.#held.delete(session)
        lost(session)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, next))
  }

  /** Keeps all that are in use. */
  async touch(engine: Engine): Promise<void> {
    const sessions = this.#sessions()
    while (sessions.length > 0) await engine.touch(sessions.splice(0, touched), this.#limits.ttl)
  }

  #sessions(): string[] {
    return Array.from(this.#held.entries(), ([session]) => session)
  }

  #note(session: string, request: ClaimRequest, epoch: number): void {
    const known = this.#held.get(session)
    if (known?.epoch !== undefined && known.epoch > epoch) return
    this.#held.set(session, { request, epoch, saved: known?.saved })
  }

  #letGo(engine: Engine | undefined, session: string, epoch: number): void {
    const former = this.#releasing.get(session) ?? Promise.resolve()
    const releasing = former
      .then(() => engine?.isUp === true && engine.release(this.#node, session, epoch).then(() => true))
      .catch((error) => {
        if (!isUnavailable(error)) throw error
        return false
      })
      .then((isReleased) => {
        if (!isReleased && this.#unreleased.size < maxUnreleased) this.#unreleased.set(session, epoch)
      })
      .finally(() => {
        if (this.#releasing.get(session) === releasing) this.#releasing.delete(session)
      })
    this.#releasing.set(session, releasing)
  }

  #request(session: string, peer: Peer | undefined, mayTakeOver: boolean): ClaimRequest {
    const { lease, maxSessions, maxSessionsPerClient, ttl } = this.#limits
    const client = peer && clientOf(peer, maxSessionsPerClient !== undefined)
    const maxPerClient = maxSessionsPerClient ?? usualPerClient
    return { node: this.#node, lease, session, client, ttl, maxSessions, maxPerClient, mayTakeOver }
  }

  #full(of: 'sessions' | 'client'): TransportError {
    const { maxSessions, maxSessionsPerClient = usualPerClient } = this.#limits
    return of === 'sessions'
      ? new TransportError('SESSION_LIMIT', `the server has ${maxSessions} sessions already`, {
          retryable: true,
        })
      : new TransportError('CLIENT_LIMIT', `one client may have ${maxSessionsPerClient} sessions`, {
          retryable: true,
        })
  }
}

/** Who a session counts for, as a digest; addresses of this machine count only where a limit was set. */
function clientOf({ principal, remoteAddress }: Peer, countsThisMachine: boolean): string | undefined {
  if (principal !== undefined) return digest(keyOfPrincipal(principal))
  if (remoteAddress === undefined || (!countsThisMachine && isThisMachine(remoteAddress))) return undefined
  return digest(networkOf(remoteAddress))
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

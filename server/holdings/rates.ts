import { createHash } from 'node:crypto'
import { McpError } from '../../protocol/wire/errors.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { clientOf } from '../../transports/contract/caller.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Values } from '../../transports/contract/values.js'
import { tooManyRequests } from '../base/errors.js'
import type { RateOptions } from './options.js'

/** In milliseconds. */
const periods = Object.freeze({
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
})

/** Callers of one period that are known here; of those before them the engine knows. */
const mostCallers = 100_000
const mostRounds = 100_000
/** A node takes calls from what all have in common by so many parts. */
const parts = 20
/** Each try that fails is one part of another node: they are gone before. */
const mostTries = parts + 2

/** The calls of one caller that this node may still serve. */
interface Share {
  left: number
  /** Of all calls that this node got. */
  taken: number
  isSpent: boolean
  asking: Promise<void> | undefined
}

/**
 * Counts the calls of each caller, over all nodes with one engine: a node takes some from the engine at a time.
 * While the engine is away, or where it keeps no values, each node counts by itself.
 */
export class Rates {
  readonly #options: RateOptions
  readonly #server: string
  readonly #values: Values | undefined
  readonly #world: World
  readonly #shares = new Map<string, Share>()
  /** Rounds of calls that were counted when they began: each state of a call is good for one. */
  readonly #rounds = new Set<string>()
  #period = 0

  constructor(options: RateOptions, server: string, values: Values | undefined, world: World) {
    this.#options = options
    this.#server = server
    this.#values = values
    this.#world = world
  }

  /**
   * Counts a call; a promise where the engine has to be asked. As with every limit that an option sets, the
   * addresses of this machine count; who has neither a principal nor an address has no limit. Throws or rejects
   * with McpError 429.
   */
  take(peer: Peer): void | Promise<void> {
    const caller = clientOf(peer)
    if (caller === undefined) return
    const share = this.#share(caller)
    if (!this.#isTaken(share)) return this.#takeLater(caller, share, this.#period)
  }

  /**
   * Whether a call goes on with a state for the first time on this node, in this period: it was counted when it
   * began. Whoever sends one again and again is counted.
   */
  isNextRound(requestState: string): boolean {
    this.#turn()
    const key = createHash('sha256').update(requestState).digest('base64url')
    if (this.#rounds.has(key) || this.#rounds.size >= mostRounds) return false
    this.#rounds.add(key)
    return true
  }

  #turn(): void {
    const period = Math.floor(this.#world.date() / periods[this.#options.per])
    if (period === this.#period) return
    this.#period = period
    this.#shares.clear()
    this.#rounds.clear()
  }

  #share(caller: string): Share {
    this.#turn()
    const known = this.#shares.get(caller)
    if (known !== undefined) return known
    const { calls } = this.#options
    const share: Share =
      this.#values === undefined
        ? { left: calls, taken: calls, isSpent: true, asking: undefined }
        : { left: 0, taken: 0, isSpent: false, asking: undefined }
    if (this.#shares.size >= mostCallers) this.#shares.delete(this.#shares.keys().next().value as string)
    this.#shares.set(caller, share)
    return share
  }

  #isTaken(share: Share): boolean {
    if (share.left > 0) share.left -= 1
    else if (share.isSpent) throw this.#refusal()
    else return false
    return true
  }

  async #takeLater(caller: string, share: Share, period: number): Promise<void> {
    do {
      share.asking ??= this.#refill(caller, share, period).finally(() => {
        share.asking = undefined
      })
      await share.asking
    } while (!this.#isTaken(share))
  }

  async #refill(caller: string, share: Share, period: number): Promise<void> {
    const got = await this.#reserved(`rate ${this.#server} ${period} ${caller}`).catch((cause: unknown) => {
      if (cause instanceof TransportError && cause.retryable) return undefined
      throw cause
    })
    // this node alone
    const more = got ?? this.#options.calls - share.taken
    share.left += more
    share.taken += more
    share.isSpent = more === 0 || got === undefined
  }

  /** Calls of what is left for all; undefined: the engine has lost the count. */
  async #reserved(key: string): Promise<number | undefined> {
    const { calls, per } = this.#options
    const values = this.#values as Values
    for (let tries = 0; tries < mostTries; tries += 1) {
      const was = await values.get(key)
      const used = Number(was?.text ?? 0)
      const more = Math.min(Math.ceil(calls / parts), calls - used)
      if (more <= 0) return 0
      if (
        await values.set(key, String(used + more), {
          was,
          ttl: 2 * periods[per],
        })
      )
        return more
    }
    return undefined
  }

  #refusal(): McpError {
    const { calls, per } = this.#options
    const ms = periods[per]
    const retryAfter = ms - (this.#world.date() % ms)
    const problem = `too many calls: ${calls} ${per === 'hour' ? 'an' : 'a'} ${per} (limits.rate): try again in ${Math.ceil(retryAfter / 1_000)} s`
    return new McpError(tooManyRequests, problem, {
      data: { retryable: true, retryAfter },
      retryable: true,
    })
  }
}

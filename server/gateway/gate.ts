import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { show } from '../../runtime/base/errors.js'
import type { Clock } from '../../runtime/time/clock.js'
import { isNear, shareOf } from '../../transports/base/network.js'
import type { BreakerOptions, UpstreamLimits } from '../definitions/gateway-options.js'
import { admit, type Breaker, closedBreaker, settle, type Verdict } from './breaker.js'

/** Called when a call is over. */
export type Leave = (verdict: Verdict) => void

const usual: Required<BreakerOptions> = Object.freeze({ failures: 5, pause: 5_000, maxPause: 60_000 })

/** Calls of which a caller has its share where no limit is given: as many as a session works on at once. */
const usualCalls = 64
/** Callers of one tool that are refused; the oldest is let through again. */
const maxResting = 1_000

/** What of a server has failed lately. */
interface Failing {
  /** Calls in a row, of all callers. */
  row: number
  /**
   * Of those whose own calls have failed since the row is long enough. Others may call: what one caller asks
   * for may fail for it alone.
   */
  readonly breakers: Map<string, Breaker>
}

/** Lets calls through to one server, or refuses them at once. All of its state is of calls that are under way. */
export class Gate {
  readonly #name: string
  readonly #limits: UpstreamLimits
  readonly #breaking: Required<BreakerOptions> | undefined
  readonly #clock: Clock
  /** Calls under way, by what they count for. */
  readonly #counts = new Map<string, number>()
  /** By what is called. */
  readonly #failing = new Map<string, Failing>()

  constructor(name: string, limits: UpstreamLimits, clock: Clock) {
    this.#name = name
    this.#limits = limits
    this.#breaking = limits.breaker === false ? undefined : { ...usual, ...limits.breaker }
    this.#clock = clock
  }

  /**
   * Throws McpError -32603, retryable, where a limit of the tool is reached, or the breaker of the caller is open
   * for `what` is called: the tool, or a part of it that may fail by itself.
   */
  enter(tool: string, caller: string, what = tool): Leave {
    const { maxCalls, maxCallsPerTool = {} } = this.#limits
    const share = isNear(caller) ? undefined : shareOf(maxCalls ?? usualCalls)
    const counted = [
      { key: 'all', most: maxCalls, whose: this.#name },
      {
        key: `caller ${caller}`,
        most: this.#limits.maxCallsPerCaller ?? share,
        whose: `${this.#name} for one caller`,
      },
      {
        key: `tool ${tool}`,
        most: Object.hasOwn(maxCallsPerTool, tool) ? maxCallsPerTool[tool] : undefined,
        whose: `${show(tool)} of ${this.#name}`,
      },
    ].filter(({ most }) => most !== undefined)
    for (const { key, most = 0, whose } of counted)
      if (this.#count(key) >= most) throw refusal(`${whose} has ${most} calls under way already: try again`)
    this.#admit(what, caller)
    for (const { key } of counted) this.#counts.set(key, this.#count(key) + 1)
    let isOver = false
    return (verdict) => {
      if (isOver) return
      isOver = true
      for (const { key } of counted) this.#uncount(key)
      this.#settle(what, caller, verdict)
    }
  }

  /** Its server is there anew: what came before says nothing. */
  reset(): void {
    this.#failing.clear()
  }

  #admit(what: string, caller: string): void {
    const breakers = this.#failing.get(what)?.breakers
    const breaker = breakers?.get(caller)
    if (breakers === undefined || breaker === undefined) return
    const admitted = admit(breaker, this.#clock.now())
    if ('state' in admitted) breakers.set(caller, admitted)
    else {
      const wait = Math.ceil(admitted.wait)
      throw refusal(
        `${show(what)} of ${this.#name} has failed ${this.#breaking?.failures} times in a row, and rests: try again in ${wait} ms`,
        wait,
      )
    }
  }

  #settle(what: string, caller: string, verdict: Verdict): void {
    if (this.#breaking === undefined) return
    // it has served one: the others may try
    if (verdict === 'serves') return void this.#failing.delete(what)
    const failing = this.#failing.get(what) ?? { row: 0, breakers: new Map<string, Breaker>() }
    const { breakers } = failing
    if (verdict === 'fails') failing.row += 1
    const failures = failing.row < this.#breaking.failures ? Number.POSITIVE_INFINITY : 1
    const before = breakers.get(caller) ?? closedBreaker
    const breaker = settle(before, verdict, this.#clock.now(), { ...this.#breaking, failures })
    if (breaker.state !== 'closed') breakers.set(caller, breaker)
    if (breakers.size > maxResting) breakers.delete(first(breakers.keys()))
    if (failing.row > 0) this.#failing.set(what, failing)
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  #uncount(key: string): void {
    const left = this.#count(key) - 1
    if (left === 0) this.#counts.delete(key)
    else this.#counts.set(key, left)
  }
}

function first(keys: Iterable<string>): string {
  for (const key of keys) return key
  return ''
}

function refusal(problem: string, retryAfter?: number): McpError {
  return new McpError(errorCodes.internalError, problem, {
    data: { retryable: true, sent: false, ...(retryAfter !== undefined && { retryAfter }) },
  })
}

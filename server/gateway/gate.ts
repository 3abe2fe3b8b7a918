import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { show } from '../../runtime/base/errors.js'
import type { Clock } from '../../runtime/time/clock.js'
import { isNear, shareOf } from '../../transports/base/network.js'
import type { BreakerOptions, UpstreamLimits } from '../definitions/gateway-options.js'
import { admit, type Breaker, closedBreaker, settle, type Verdict } from './breaker.js'

/** Called when a call is over. */
export type Leave = (verdict: Verdict) => void

const usual: Required<BreakerOptions> = Object.freeze({ failures: 5, pause: 5_000, maxPause: 60_000 })

/** Lets calls through to one server, or refuses them at once. All of its state is of calls that are under way. */
export class Gate {
  readonly #name: string
  readonly #limits: UpstreamLimits
  readonly #breaking: Required<BreakerOptions> | undefined
  readonly #clock: Clock
  /** Calls under way, by what they count for. */
  readonly #counts = new Map<string, number>()
  /** Those that are not closed without a failure, by tool. */
  readonly #breakers = new Map<string, Breaker>()

  constructor(name: string, limits: UpstreamLimits, clock: Clock) {
    this.#name = name
    this.#limits = limits
    this.#breaking = limits.breaker === false ? undefined : { ...usual, ...limits.breaker }
    this.#clock = clock
  }

  /** Throws McpError -32603, retryable, where a limit is reached or the breaker of the tool is open. */
  enter(tool: string, caller: string): Leave {
    const { maxCalls, maxCallsPerTool = {} } = this.#limits
    const share = maxCalls === undefined || isNear(caller) ? undefined : shareOf(maxCalls)
    const counted = [
      { key: 'all', most: maxCalls, what: this.#name },
      {
        key: `caller ${caller}`,
        most: this.#limits.maxCallsPerCaller ?? share,
        what: `${this.#name} for one caller`,
      },
      {
        key: `tool ${tool}`,
        most: Object.hasOwn(maxCallsPerTool, tool) ? maxCallsPerTool[tool] : undefined,
        what: `${show(tool)} of ${this.#name}`,
      },
    ].filter(({ most }) => most !== undefined)
    for (const { key, most = 0, what } of counted)
      if (this.#count(key) >= most) throw refusal(`${what} has ${most} calls under way already: try again`)
    this.#admit(tool)
    for (const { key } of counted) this.#counts.set(key, this.#count(key) + 1)
    let isOver = false
    return (verdict) => {
      if (isOver) return
      isOver = true
      for (const { key } of counted) this.#uncount(key)
      this.#settle(tool, verdict)
    }
  }

  /** Its server is there anew: what came before says nothing. */
  reset(): void {
    this.#breakers.clear()
  }

  #admit(tool: string): void {
    const breaker = this.#breakers.get(tool)
    if (breaker === undefined) return
    const admitted = admit(breaker, this.#clock.now())
    if ('state' in admitted) this.#breakers.set(tool, admitted)
    else {
      const wait = Math.ceil(admitted.wait)
      const what = `${show(tool)} of ${this.#name}`
      throw refusal(
        `${what} has failed ${this.#breaking?.failures} times in a row, and rests: try again in ${wait} ms`,
        wait,
      )
    }
  }

  #settle(tool: string, verdict: Verdict): void {
    if (this.#breaking === undefined) return
    const before = this.#breakers.get(tool) ?? closedBreaker
    const breaker = settle(before, verdict, this.#clock.now(), this.#breaking)
    if (breaker === closedBreaker) this.#breakers.delete(tool)
    else this.#breakers.set(tool, breaker)
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

function refusal(problem: string, retryAfter?: number): McpError {
  return new McpError(errorCodes.internalError, problem, {
    data: { retryable: true, sent: false, ...(retryAfter !== undefined && { retryAfter }) },
  })
}

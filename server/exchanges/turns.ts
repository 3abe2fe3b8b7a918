import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import { Places } from '../../transports/base/places.js'
import { outside } from '../../runtime/faults/containment.js'
import { TransportError } from '../../transports/base/errors.js'
import { shareOf } from '../../transports/base/network.js'
import type { Exchange } from './exchange.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { WaitingLine } from '../base/waiting-line.js'

type Limits = Holdings['settings']['limits']

/**
 * Which requests are at work, and which wait: callers take turns, each in its own order, and one that has its
 * share waits for itself.
 */
export class ExchangeTurns {
  readonly #limits: Limits
  readonly #begin: (exchange: Exchange) => void
  readonly #waiting: WaitingLine<Exchange>
  readonly #places: Places
  #isTaking = false

  /** `begin` has an exchange settled, sooner or later, or throws. */
  constructor({ settings, waiting }: Holdings, begin: (exchange: Exchange) => void) {
    this.#limits = settings.limits
    this.#begin = begin
    this.#places = new Places(settings.limits.statelessRequests)
    this.#waiting = new WaitingLine(settings.limits.waiting, waiting)
  }

  /**
   * Begins it, or has it wait. Throws what `begin` throws, and EXCHANGE_LIMIT when there is no room to wait.
   */
  enter(exchange: Exchange): void {
    if (this.#places.isFull || this.#places.hasItsShare(exchange.caller)) this.#wait(exchange)
    else this.#start(exchange)
  }

  /** One that was begun is settled; those that wait take its place, as many as end at once. */
  left({ caller }: Exchange): void {
    this.#places.giveBack(caller)
    if (this.#waiting.size === 0 || this.#isTaking) return
    this.#isTaking = true
    while (!this.#places.isFull) {
      const next = this.#waiting.take(undefined, (caller) => !this.#places.hasItsShare(caller))
      if (next === undefined) break
      // not in the scope of the run that leaves: it may have ended, and starts nothing then
      outside(() => this.#startLate(next))
    }
    this.#isTaking = false
  }

  #start(exchange: Exchange): void {
    this.#places.take(exchange.caller)
    try {
      this.#begin(exchange)
    } catch (error) {
      this.#places.giveBack(exchange.caller)
      throw error
    }
  }

  #startLate(exchange: Exchange): void {
    exchange.ignoreAbort()
    try {
      this.#start(exchange)
    } catch (error) {
      const { id } = exchange.call.request
      this.#places.take(exchange.caller) // its end is counted like any other
      exchange.fail(error, buildError(id, { code: errorCodes.internalError, message: 'failed' }))
    }
  }

  #wait(exchange: Exchange): void {
    const { call, caller } = exchange
    if (!this.#waiting.add(exchange, call.request, caller)) throw this.#busy(caller)
    exchange.onAbort(() => {
      if (!this.#waiting.delete(exchange, caller)) return
      this.#places.take(caller) // its end is counted like any other
      exchange.settle(undefined)
    })
  }

  #busy(caller: string): TransportError {
    const { statelessRequests, waiting } = this.#limits
    const atWork = this.#places.hasItsShare(caller)
      ? `${shareOf(statelessRequests)} of one client, of ${statelessRequests} in all,`
      : `${statelessRequests}`
    const problem = `too many requests at once: ${atWork} without a session are at work (limits.statelessRequests), and ${waiting} of one client, or 64 MiB, may wait (limits.waiting): try again later`
    return new TransportError('EXCHANGE_LIMIT', problem, { retryable: true })
  }
}

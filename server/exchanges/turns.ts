import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import { callerOf } from '../base/caller.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Exchange } from './exchange.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { WaitingLine } from '../base/waiting-line.js'

type Limits = Holdings['settings']['limits']

/** Which requests are at work, and which wait: clients take turns, each in its own order. */
export class ExchangeTurns {
  readonly #limits: Limits
  readonly #begin: (exchange: Exchange) => void
  readonly #waiting: WaitingLine<Exchange>
  #atWork = 0
  #isTaking = false

  /** `begin` has an exchange settled, sooner or later, or throws. */
  constructor({ settings, waiting }: Holdings, begin: (exchange: Exchange) => void) {
    this.#limits = settings.limits
    this.#begin = begin
    this.#waiting = new WaitingLine(settings.limits.waiting, waiting)
  }

  /**
   * Begins it, or has it wait. Throws what `begin` throws, and EXCHANGE_LIMIT when there is no room to wait.
   */
  enter(exchange: Exchange): void {
    if (this.#atWork < this.#limits.statelessRequests) this.#start(exchange)
    else this.#wait(exchange)
  }

  /** One that was begun is settled; those that wait take its place, as many as end at once. */
  left(): void {
    this.#atWork -= 1
    if (this.#waiting.size === 0 || this.#isTaking) return
    this.#isTaking = true
    while (this.#atWork < this.#limits.statelessRequests) {
      const next = this.#waiting.take()
      if (next === undefined) break
      this.#startLate(next)
    }
    this.#isTaking = false
  }

  #start(exchange: Exchange): void {
    this.#atWork += 1
    try {
      this.#begin(exchange)
    } catch (error) {
      this.#atWork -= 1
      throw error
    }
  }

  #startLate(exchange: Exchange): void {
    exchange.ignoreAbort()
    try {
      this.#start(exchange)
    } catch (error) {
      const { id } = exchange.call.request
      this.#atWork += 1 // its end is counted like any other
      exchange.fail(error, buildError(id, { code: errorCodes.internalError, message: 'failed' }))
    }
  }

  #wait(exchange: Exchange): void {
    const { peer, request } = exchange.call
    const client = callerOf(peer, undefined)
    if (!this.#waiting.add(exchange, request, client)) throw busy(this.#limits)
    exchange.onAbort(() => {
      if (!this.#waiting.delete(exchange, client)) return
      this.#atWork += 1 // its end is counted like any other
      exchange.settle(undefined)
    })
  }
}

function busy({ statelessRequests, waiting }: Limits): TransportError {
  const problem = `too many requests at once: ${statelessRequests} without a session are at work (limits.statelessRequests), and ${waiting} of one client, or 64 MiB, may wait (limits.waiting): try again later`
  return new TransportError('EXCHANGE_LIMIT', problem, { retryable: true })
}

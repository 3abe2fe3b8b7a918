import { errorCodes } from '../../protocol/wire/errors.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import { networkOf } from '../../transports/connections/client-counts.js'
import type { Peer } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { keyOfPrincipal } from '../../transports/contract/principal.js'
import type { Exchange } from './exchange.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { WaitingLine } from '../holdings/waiting-line.js'
import type { Work } from '../requests/work.js'

/** A request that waits for its turn. */
interface Waiting {
  readonly exchange: Exchange
  readonly work: Work
}

/**
 * Which requests without a session are worked on, and which wait for their turn: those of one client in their
 * order, and clients by turns.
 */
export class ExchangeTurns {
  readonly #settings: Holdings['settings']
  readonly #begin: (exchange: Exchange, work: Work) => void
  readonly #waiting: WaitingLine<Waiting>
  #atWork = 0
  #isTaking = false

  /** `begin` has an exchange settled, sooner or later, or throws. */
  constructor({ settings, waiting }: Holdings, begin: (exchange: Exchange, work: Work) => void) {
    this.#settings = settings
    this.#begin = begin
    this.#waiting = new WaitingLine(settings.maxWaiting, waiting)
  }

  /**
   * Begins, or has it wait. Throws TransportError EXCHANGE_LIMIT where there is no room to wait, and what
   * `begin` throws.
   */
  enter(exchange: Exchange, work: Work): void {
    if (this.#atWork < this.#settings.maxExchanges) this.#start({ exchange, work })
    else this.#wait({ exchange, work })
  }

  /**
   * One that was begun is settled: those that wait take its place. One that ends at once makes room for the
   * next.
   */
  left(): void {
    this.#atWork -= 1
    if (this.#waiting.size === 0 || this.#isTaking) return
    this.#isTaking = true
    while (this.#atWork < this.#settings.maxExchanges) {
      const next = this.#waiting.take()
      if (next === undefined) break
      this.#startLate(next)
    }
    this.#isTaking = false
  }

  #start({ exchange, work }: Waiting): void {
    this.#atWork += 1
    try {
      this.#begin(exchange, work)
    } catch (error) {
      this.#atWork -= 1
      throw error
    }
  }

  #startLate(next: Waiting): void {
    const { exchange } = next
    exchange.ignoreAbort()
    try {
      this.#start(next)
    } catch (error) {
      const { id } = exchange.call.request
      this.#atWork += 1 // its end is counted like any other
      exchange.fail(error, buildError(id, { code: errorCodes.internalError, message: 'failed' }))
    }
  }

  /** A client that goes away waits no more. */
  #wait(waiting: Waiting): void {
    const { call } = waiting.exchange
    const client = clientOf(call.peer)
    if (!this.#waiting.add(waiting, call.request, client)) throw busy(this.#settings)
    waiting.exchange.onAbort(() => {
      if (!this.#waiting.delete(waiting, client)) return
      this.#atWork += 1 // its end is counted like any other
      waiting.exchange.settle(undefined)
    })
  }
}

/** Whose turn it is goes by who it is, or else by where it comes from. */
function clientOf({ principal, remoteAddress }: Peer): string {
  return principal === undefined ? `from ${networkOf(remoteAddress ?? '')}` : keyOfPrincipal(principal)
}

function busy({ maxExchanges, maxWaiting }: Holdings['settings']): TransportError {
  const problem = `too many requests at once: ${maxExchanges} without a session are at work (maxExchanges), and ${maxWaiting} of one client, or 64 MiB, may wait (maxWaiting): try again later`
  return new TransportError('EXCHANGE_LIMIT', problem, { retryable: true })
}

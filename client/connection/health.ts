import { TransportError } from '../../transports/base/errors.js'
import type { OwnOutcome } from '../calls/calls.js'
import type { Incarnation } from './incarnation.js'
import { refused, unreachable } from './link-end.js'

/** Pings a ready server, one ping at a time. Any answer is a sign of life, also an error. */
export class Health {
  readonly #state: Incarnation
  #timer: unknown
  #misses = 0

  constructor(state: Incarnation) {
    this.#state = state
  }

  /** Begins anew; does nothing without the option `health`. */
  start(): void {
    const { world, settings } = this.#state
    world.clearTimeout(this.#timer)
    this.#misses = 0
    if (settings.health !== undefined) this.#pingIn(settings.health.every)
  }

  #pingIn(ms: number): void {
    this.#timer = this.#state.world.setTimeout(() => this.#ping(), ms)
  }

  #ping(): void {
    const { connection, settings, calls } = this.#state
    const { health } = settings
    if (health === undefined || connection.phase !== 'ready') return
    const done = (outcome: OwnOutcome): void => this.#heard(outcome, health)
    calls.ask({ method: 'ping', timeout: health.every, done })
  }

  #heard(outcome: OwnOutcome, { every, misses }: { readonly every: number; readonly misses: number }): void {
    if (this.#state.connection.phase !== 'ready') return
    if (outcome.type === 'lost' && outcome.error.code === 'CONNECT_FAILED')
      return unreachable(this.#state, outcome.error)
    const isAlive = outcome.type === 'answer' || outcome.type === 'junk'
    this.#misses = isAlive ? 0 : this.#misses + 1
    if (this.#misses < misses) return this.#pingIn(outcome.type === 'timeout' ? 0 : every)
    const text = `no sign of life: ${this.#misses} questions in a row were not answered within ${every} ms`
    refused(this.#state, new TransportError('CONNECTION_LOST', text, { retryable: true }))
  }
}

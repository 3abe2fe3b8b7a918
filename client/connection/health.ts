import { TransportError } from '../../transports/base/errors.js'
import type { Incarnation } from './incarnation.js'
import { refused, unreachable } from './link-end.js'
import type { OwnOutcome } from '../calls/own-requests.js'

/**
 * Asks for a sign of life while the connection is ready, one question at a time. Any answer is one, also an
 * error.
 */
export class Health {
  readonly #state: Incarnation
  #timer: unknown
  #misses = 0

  constructor(state: Incarnation) {
    this.#state = state
  }

  /** Begins anew; does nothing without the option. */
  start(): void {
    this.stop()
    const { health } = this.#state.settings
    if (health === undefined) return
    this.#misses = 0
    this.#timer = this.#state.clock.setTimeout(() => this.#ask(), health.every)
  }

  stop(): void {
    this.#state.clock.clearTimeout(this.#timer)
  }

  #ask(): void {
    const { connection, settings, own, calls, speech } = this.#state
    const { health } = settings
    if (health === undefined || connection.phase !== 'ready') return
    const done = (outcome: OwnOutcome): void => this.#heard(outcome)
    const id = calls.nextId()
    own.send(speech, { id, method: 'ping', params: undefined, timeout: health.every, done })
  }

  #heard(outcome: OwnOutcome): void {
    const { health } = this.#state.settings
    if (health === undefined || this.#state.connection.phase !== 'ready') return
    if (outcome.type === 'lost' && outcome.error.code === 'CONNECT_FAILED')
      return unreachable(this.#state, outcome.error)
    const alive = outcome.type === 'answer' || outcome.type === 'junk'
    this.#misses = alive ? 0 : this.#misses + 1
    if (this.#misses < health.misses) {
      const wait = outcome.type === 'timeout' ? 0 : health.every
      this.#timer = this.#state.clock.setTimeout(() => this.#ask(), wait)
      return
    }
    const text = `no sign of life: ${this.#misses} questions in a row were not answered within ${health.every} ms`
    refused(this.#state, new TransportError('CONNECTION_LOST', text, { retryable: true }), false)
  }
}

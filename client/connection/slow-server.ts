import type { Incarnation } from './incarnation.js'

/** Milliseconds after which a silent program looks dead to the person who started it. */
const slowAfter = 2_000

/** Tells, once an outage, that somebody waits for a server that is slow to come up. */
export class SlowServerWarning {
  readonly #state: Incarnation
  #timer: unknown
  #isTold = false

  constructor(state: Incarnation) {
    this.#state = state
  }

  /** Somebody waits. */
  begin(): void {
    if (this.#timer !== undefined || this.#isTold || this.#state.connection.phase === 'ready') return
    this.#timer = this.#state.world.setTimeout(() => this.#look(), slowAfter)
  }

  /** The server is there. */
  end(): void {
    this.#state.world.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isTold = false
  }

  #look(): void {
    this.#timer = undefined
    const { connection, calls, holdings } = this.#state
    const { phase, reason } = connection.state
    const isAwaited = calls.waiting > 0 || holdings.demand.any
    // an attempt that failed is told by itself
    if (!isAwaited || (phase !== 'connecting' && phase !== 'initializing')) return
    this.#isTold = true
    const doing = phase === 'connecting' ? 'it is being started, or connected to' : 'it has not answered yet'
    const why = reason === undefined ? doing : reason.message
    holdings.reports.warn('waiting', `somebody has waited ${slowAfter / 1_000} s for this server: ${why}`)
  }
}

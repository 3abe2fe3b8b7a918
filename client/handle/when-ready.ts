import type { Clock } from '../../runtime/time/clock.js'
import { messageOf } from '../../runtime/base/errors.js'
import { callError, ClientError, failedError, givenUpError } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'
import { readMs, readOptions, readSignal } from '../base/read-options.js'
import { onAbortOf } from '../base/shared-signals.js'
import type { ClientState, Undo } from '../base/state.js'

/** How long is waited until a client, or several, can be called. */
export interface ReadyOptions {
  /** Milliseconds it may take in all. */
  readonly timeout?: number
  /** Gives the wait up when it aborts: it rejects with CANCELLED. What is waited for goes on. */
  readonly signal?: AbortSignal
}

/** Checked options of a wait. */
export interface ReadyLimits {
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/** Reads the options of a wait. Throws BAD_OPTION, naming the field. */
export function readReadyOptions(options: ReadyOptions | undefined, usual: number): ReadyLimits {
  const given = options === undefined ? {} : readOptions(options, ['timeout', 'signal'], '{ timeout: 5000 }')
  return { timeout: readMs(given.timeout, 'timeout', usual), signal: readSignal(given.signal) }
}

/** Resolves when the client is ready; rejects when it never will be, or not within these limits. */
export function whenReady(holdings: Holdings, clock: Clock, readLimits: () => ReadyLimits): Promise<void> {
  return new Promise((resolve, reject) => {
    const { timeout, signal } = readLimits()
    let timer: unknown
    const undo: Undo[] = []
    const finish = (error?: Error): void => {
      if (timer !== undefined) clock.clearTimeout(timer)
      for (const each of undo) each()
      if (error === undefined) resolve()
      else reject(error)
    }
    const giveUp = (): void => finish(givenUpError('ready', signal?.reason))
    const look = (state: ClientState): boolean => {
      if (state.phase === 'ready') finish()
      else if (state.phase === 'failed') finish(failure(state.reason))
      else if (state.phase === 'closed')
        finish(callError('CLOSED', `client ${holdings.name} is closed`, { sent: false, retryable: false }))
      else return false
      return true
    }
    if (look(holdings.state)) return
    if (signal?.aborted) return giveUp()
    if (signal !== undefined) undo.push(onAbortOf(signal, giveUp))
    undo.push(holdings.watch(look), holdings.demand.begin())
    if (Number.isFinite(timeout)) timer = clock.setTimeout(() => finish(notReady(holdings, timeout)), timeout)
  })
}

function failure(reason: Error | undefined): Error {
  return reason instanceof ClientError && reason.code === 'GAVE_UP' ? reason : failedError('ready', reason)
}

function notReady({ name, state }: Holdings, timeout: number): ClientError {
  const { phase, reason, attempt } = state
  const tries = attempt < 2 ? '' : ` after ${attempt} attempts`
  const why = reason === undefined ? `${phase}${tries}` : `${phase}${tries}: ${messageOf(reason)}`
  return callError('NOT_READY', `client ${name} was not ready within ${timeout} ms (${why})`, {
    sent: false,
    cause: reason,
  })
}

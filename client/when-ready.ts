import type { Clock } from '../runtime/clock.js'
import { messageOf } from '../runtime/errors.js'
import { callError, ClientError, failedError } from './errors.js'
import type { Holdings } from './holdings.js'
import type { ClientState } from './state.js'

/** Resolves when the client is ready; rejects when it never will be, or not within the time that `readTimeout` answers. */
export function whenReady(holdings: Holdings, clock: Clock, readTimeout: () => number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timeout = readTimeout()
    let timer: unknown
    let unwatch = (): void => {}
    const finish = (error?: Error): void => {
      if (timer !== undefined) clock.clearTimeout(timer)
      unwatch()
      if (error === undefined) resolve()
      else reject(error)
    }
    const look = (state: ClientState): boolean => {
      if (state.phase === 'ready') finish()
      else if (state.phase === 'failed') finish(failure(state.reason))
      else if (state.phase === 'closed')
        finish(callError('CLOSED', `client ${holdings.name} is closed`, { sent: false, retryable: false }))
      else return false
      return true
    }
    if (look(holdings.state)) return
    unwatch = holdings.watch(look)
    if (Number.isFinite(timeout)) timer = clock.setTimeout(() => finish(notReady(holdings, timeout)), timeout)
  })
}

function failure(reason: Error | undefined): Error {
  return reason instanceof ClientError && reason.code === 'GAVE_UP' ? reason : failedError('ready', reason)
}

function notReady({ name, state }: Holdings, timeout: number): ClientError {
  const { phase, reason } = state
  const why = reason === undefined ? phase : `${phase}: ${messageOf(reason)}`
  return callError('NOT_READY', `client ${name} was not ready within ${timeout} ms (${why})`, {
    sent: false,
    cause: reason,
  })
}

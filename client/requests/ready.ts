import { messageOf } from '../../runtime/base/errors.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { callError, ClientError, failedError, givenUpError, notReadyError } from '../base/errors.js'
import { readMs, readOptions, readSignal } from '../base/read-options.js'
import type { ClientState } from '../base/state.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientParts } from './parts.js'

/** How long is waited until a client, or several, can be called. */
export interface ReadyOptions {
  /** Milliseconds it may take in all. */
  readonly timeout?: number
  /** Gives the wait up when it aborts: it rejects with CANCELLED. What is waited for goes on. */
  readonly signal?: AbortSignal
}

/** Throws BAD_OPTION, naming the field. */
export function readReadyOptions(
  options: ReadyOptions | undefined,
  usual: number,
): { readonly timeout: number; readonly signal: AbortSignal | undefined } {
  const given = options === undefined ? {} : readOptions(options, ['timeout', 'signal'], '{ timeout: 5000 }')
  return { timeout: readMs(given.timeout, 'timeout', usual), signal: readSignal(given.signal) }
}

/** Rejects when it never will be ready, or not within these limits. */
export async function whenReady(parts: ClientParts, options: ReadyOptions | undefined): Promise<void> {
  const { holdings, settings } = parts
  const { timeout, signal } = readReadyOptions(options, settings.timeout)
  if (isReady(holdings.name, holdings.state)) return
  const limits = {
    clock: parts.holdings.world,
    ms: timeout,
    late: () => {
      throw notReady(holdings, timeout)
    },
    signal,
    aborted: (reason: unknown) => {
      throw givenUpError('ready', reason)
    },
  }
  await waitWithin<void>(limits, (resolve, reject) => {
    const unwatch = holdings.watch((state) => {
      try {
        if (isReady(holdings.name, state)) resolve()
      } catch (error) {
        reject(error)
      }
    })
    const done = holdings.demand.begin()
    return () => {
      unwatch()
      done()
    }
  })
}

/** Waits for a connection as a call does; resolves with the options of the call, and what time is left. */
export async function onceReady(
  parts: ClientParts,
  method: string,
  options: CallOptions | undefined,
): Promise<CallOptions | undefined> {
  const { holdings, settings } = parts
  const { timeout, totalTimeout, signal, wait } = readCallOptions(options, settings.timeout)
  const { phase, reason } = holdings.state
  if (phase === 'ready') return options
  if (!wait && phase !== 'failed' && phase !== 'closed') throw notReadyError({ method }, reason, false)
  const { world } = holdings
  const began = world.now()
  await whenReady(parts, { timeout, ...(signal !== undefined && { signal }) })
  const rest = (ms: number): number => Math.max(1, ms - (world.now() - began))
  return { ...options, timeout: rest(timeout), totalTimeout: rest(totalTimeout) }
}

/** Throws when it never will be. */
function isReady(name: string, { phase, reason }: ClientState): boolean {
  if (phase === 'failed')
    throw reason instanceof ClientError && reason.code === 'GAVE_UP' ? reason : failedError('ready', reason)
  if (phase === 'closed')
    throw callError('CLOSED', `client ${name} is closed`, { sent: false, retryable: false })
  return phase === 'ready'
}

function notReady({ name, state }: Holdings, timeout: number): ClientError {
  const { phase, reason, attempt } = state
  const tries = attempt < 2 ? '' : ` after ${attempt} attempts`
  const why = reason === undefined ? '' : `: ${messageOf(reason)}`
  const message = `client ${name} was not ready within ${timeout} ms (${phase}${tries}${why})`
  return callError('NOT_READY', message, { sent: false, cause: reason })
}

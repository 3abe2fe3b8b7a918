import { messageOf } from '../../runtime/base/errors.js'
import { isNormal } from '../../runtime/base/exit.js'
import type { Registry } from '../../runtime/process/registry.js'
import { callError, type ClientError } from '../base/errors.js'
import type { Holdings } from './holdings.js'
import { clientActorName } from '../base/names.js'

/**
 * Whether a client that no supervisor will bring back was closed, or ended with the tree it was embedded in,
 * and did not give up.
 */
export function isClosed(holdings: Holdings, registry: Registry): boolean {
  const { name, closing, started, gaveUp, over, state } = holdings
  if (over) return state.phase === 'closed'
  const known = registry.state(clientActorName(name))
  return closing || (started && !gaveUp && known.state === 'ended' && isNormal(known.reason))
}

/**
 * The error for a client that no supervisor will bring back: CLOSED when it was ended, GAVE_UP when it
 * crashed too often.
 */
export function goneError(
  what: string,
  holdings: Holdings,
  registry: Registry,
  { sent, cause }: { readonly sent: boolean; readonly cause: unknown },
): ClientError {
  const details = { sent, retryable: false, cause }
  if (isClosed(holdings, registry)) return callError('CLOSED', `${what} is closed`, details)
  const why = holdings.gaveUp ? 'it crashed too often' : messageOf(cause)
  return callError('GAVE_UP', `${what} has ended for good: ${why}`, details)
}

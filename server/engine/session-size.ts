import { ServerError } from '../base/errors.js'
import type { SessionRecord } from './session-store.js'

interface Bound {
  /** Bytes of a record. */
  readonly most: number
  readonly bytes: number
  /** Bytes of a part. */
  readonly measure: (part: unknown) => number
}

/** The refusal of a record beyond a bound: it names the part that most of it is, and what the others have. */
export function tooLarge(record: SessionRecord, { most, bytes, measure }: Bound): ServerError {
  const { state, subscriptions = [], client, capabilities } = record
  const parts = Object.entries({ state, subscriptions, 'client info': { client, capabilities } })
    .map(([name, part]) => ({ name, size: measure(part) }))
    .sort((one, other) => other.size - one.size)
  const shares = parts.map(({ name, size }) => `${name} ${size}`).join(', ')
  const problem = `the ${parts[0]?.name} of a session: expected at most ${most} bytes in all, got ${bytes} (${shares})`
  return new ServerError('BAD_STATE', problem, { data: { maxBytes: most } })
}

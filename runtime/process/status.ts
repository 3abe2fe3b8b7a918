import type { Actor } from './actor.js'
import { messageOf } from '../base/errors.js'

/**
 * The state as reports may show it: only what the behaviour's `formatStatus` makes of it (OTP:
 * format_status).
 */
export function statusOf({ behaviour, state }: Actor): unknown {
  const format = behaviour.definition.formatStatus as ((state: unknown) => unknown) | undefined
  if (format === undefined || state === undefined) return undefined
  try {
    return format(state)
  } catch (error) {
    return `formatStatus failed: ${messageOf(error)}`
  }
}

import type { Lazy } from '../../runtime/faults/load.js'

/**
 * Modules that a server loads when it is told to use them. Absent: the program that starts it has them not.
 */
export interface HoldingsParts {
  readonly auditor?: Lazy<typeof import('./auditor.js')>
  readonly isolated?: Lazy<typeof import('../isolation/isolated-calls.js')>
  readonly logins?: Lazy<typeof import('./gateway-logins.js')>
  readonly machine?: Lazy<typeof import('./session-machine.js')>
  readonly rates?: Lazy<typeof import('./rates.js')>
  /** The room of tasks, which stands above this one, knows what is in it. */
  readonly tasks?: Lazy<object>
}

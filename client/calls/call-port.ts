import type { ClientLink } from './client-link.js'
import type { RetryBudget } from '../holdings/retry-budget.js'
import type { Speech } from './speech.js'
import type { ClientCounts, ClientState } from '../base/state.js'
import type { ToolBook } from '../holdings/tool-book.js'

/** What the calls of a client need of it. */
export interface CallPort {
  readonly link: ClientLink
  readonly counts: ClientCounts
  readonly tools: ToolBook
  readonly budget: RetryBudget | undefined
  /** Calls that may be in flight at once; Infinity: all. */
  readonly maxInFlight: number
  /** How requests are put now. */
  readonly speech: Speech
  /** Whether calls can be sent now. */
  readonly speaks: boolean
  /** Where the client is, and why. */
  readonly state: ClientState
  /** The server refuses the revision that it is spoken to in. */
  misfit(error: Error): void
}

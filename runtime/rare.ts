import type { Call } from './call.js'
import type { ExitReason } from './exit.js'

/** What an actor needs only sometimes; made when first needed, so that an idle one stays small. */
export class Rare {
  /** Calls whose reply was deferred and that still wait. */
  deferred = new Set<Call>()
  /** The handler that runs has taken over the reply of its call. */
  tookCall = false
  continuations: (() => unknown)[] = []
  /** The reason to end with after the handler that runs. */
  stopping: ExitReason | null = null
  /** The mailbox has been full, and that was reported. */
  full = false
  /** A living supervisor asked for the end, and kills what takes too long. */
  limitedByParent = false
  limited = false
  onDone: ((value: unknown) => void) | null = null
  onFail: ((error: unknown) => void) | null = null
}

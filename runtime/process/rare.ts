import { outside } from '../faults/containment.js'
import type { Call } from './call.js'
import type { ExitReason } from '../base/exit.js'
import type { Message } from './message.js'
import type { IdleTimer } from './timers.js'
import { TurnoverSet } from '../base/turnover.js'

/** Hears of every message before it is handled, and of its end. */
export type Observer = (what: 'in' | 'out', kind: string, name: string, input: unknown) => void

/** What an actor needs only sometimes; made when first needed, so that an idle one stays small. */
export class Rare {
  /** Calls whose reply was deferred and that still wait. */
  deferred = new TurnoverSet<Call>()
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
  /** A message that is due when nothing else comes first. */
  idle: IdleTimer | null = null
  /** Those who look on (sys.trace). */
  observers: Set<Observer> | null = null
  onDone: ((value: unknown) => void) | null = null
  onFail: ((error: unknown) => void) | null = null
}

/** Tells those who look on of a message; in nobody's scope, so that their errors are nobody's crash. */
export function tellObservers(observers: Set<Observer>, what: 'in' | 'out', { entry, input }: Message): void {
  const [kind, name] = typeof entry === 'string' ? ['system', entry] : [entry.kind, entry.name]
  for (const observer of [...observers]) outside(() => observer(what, kind, name, input))
}

import type { Entry } from './behaviour.js'
import type { Call } from './call.js'

/**
 * Messages of the runtime itself: a stop from the parent or from outside, and work put before the next
 * message.
 */
export type SystemMessage = 'stop' | 'continue'

/** One message on its way: who handles it, what it carries, who waits for an answer. */
export class Message {
  readonly entry: Entry | SystemMessage
  readonly input: unknown
  readonly call: Call | null

  constructor(entry: Entry | SystemMessage, input: unknown, call: Call | null) {
    this.entry = entry
    this.input = input
    this.call = call
  }
}

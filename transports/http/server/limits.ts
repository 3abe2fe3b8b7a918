import type { Afterlife } from '../../../runtime/faults/containment.js'
import type { ByteBudget } from '../../connections/byte-budget.js'
import type { EventLog } from './event-log.js'
import type { StreamEvent } from '../../contract/events.js'
import type { AnswerQueue } from './answer-queue.js'

/** What all exchanges of a listener share. */
export interface ExchangeHome {
  readonly afterlife: Afterlife
  /** The number of the tree, for events. */
  readonly id: number
}

/** What an exchange is told about its surroundings. */
export interface ExchangeLimits {
  readonly maxBufferedBytes: number
  readonly maxMessageBytes: number
  /** What the messages of all exchanges may hold. */
  readonly budget: ByteBudget
  /** Where answers wait for the end of the turn. */
  readonly answers: AnswerQueue
  /** Tells subscribers of an event stream. */
  noteStream(on: { readonly isListening: boolean }, type: StreamEvent['type']): void
  /** True once the server is being stopped: connections are not kept. */
  closing: boolean
  /** Proxies in front, whose `X-Forwarded-For` is believed. Default 0. */
  readonly proxies?: number
  /** Where event streams are kept for clients that come back; without it they cannot. */
  readonly log?: EventLog | undefined
  /** Milliseconds in which something of a finished answer has to be read. Default 15,000. */
  readonly readTimeout?: number
  /** Milliseconds after which a client is to come back. */
  readonly retryInterval?: number | undefined
}

/** After how many beats of the listener what is done about an exchange. */
export interface Beats {
  readonly opensAfter: number
  readonly releasesAfter: number
}

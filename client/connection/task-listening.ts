import type { JsonObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { Incarnation } from './incarnation.js'
import { Listening } from './listening.js'

/** Tasks of one stream; servers may allow no more. The others are looked at only. */
const maxTasks = 100
/** Milliseconds in which tasks that begin or end change the stream together. */
const gather = 1_000

/**
 * The stream that tells of tasks (2026-07-28, tasks): apart from that of changes, which a server that does not
 * know `taskIds` must not refuse because of them. Tasks are looked at all the same, so nothing depends on it.
 */
export class TaskListening {
  readonly #state: Incarnation
  readonly #stream: Listening
  #timer: unknown
  /** On this connection. */
  #refused = false

  constructor(state: Incarnation) {
    this.#state = state
    this.#stream = new Listening(state, {
      filter: ({ taskNews }) => {
        const taskIds = this.#refused ? [] : taskNews.lasting(maxTasks)
        return taskIds.length === 0 ? undefined : { taskIds }
      },
      missed: () => {},
      back: () => {},
      refused: () => {
        this.#refused = true
      },
    })
  }

  /** Other tasks than before are worth a stream. */
  changed(): void {
    const { world, speech } = this.#state
    if (this.#timer !== undefined || this.#refused || speech.dialect.handshake) return
    this.#timer = world.setTimeout(() => {
      this.#timer = undefined
      this.#stream.sync()
    }, gather)
  }

  acknowledged(params: JsonObject & { readonly notifications: SubscriptionFilter }): void {
    if (!this.#stream.acknowledged(params) || params.notifications.taskIds !== undefined) return
    // the server tells of no tasks: then the stream is of no use
    this.#refused = true
    this.#stream.sync()
  }

  cancelled(id: RequestId | undefined): void {
    this.#stream.cancelled(id)
  }

  clear(): void {
    this.#state.world.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#refused = false
    this.#stream.clear()
  }
}

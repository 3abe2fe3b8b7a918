import type { World } from '../../runtime/time/world.js'
import { outside } from '../../runtime/faults/containment.js'
import { pause } from '../../runtime/time/wait.js'
import type { Engine } from '../engine/engine.js'
import { packMessage, type BatchHead, type NodeMessage, writeBatch } from './message-batch.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

/** Messages in one batch, and characters from which on a batch is full. */
const maxMessages = 256
const fullBatch = 256 * 1024
/** Characters that may wait for one node; one message always may. */
const maxWaiting = 32 * 1024 * 1024
/** Milliseconds that an `ask` waits for room in the inbox of its node. */
const askTimeout = 5_000
/** Milliseconds until a batch that found no room is sent again. */
const retryFull = 25
/** The same after a lost answer: it may have arrived. */
const retryLost = 100
/** Batches whose answers were lost that are known one by one. */
const maxDoubtful = 32

interface MessageQueueInput {
  readonly head: Omit<BatchHead, 'number'>
  readonly seal: Seal
  readonly world: World
  /** Texts that may wait in the inbox of a node, and messages that may wait here. */
  readonly maxInbox: number
  /** Undefined while there is none. */
  readonly engine: () => Engine | undefined
  /** The lease of the node is over. */
  readonly gone: () => void
  /** This ask found no room within `askTimeout`: it was not sent. */
  readonly late: (ask: string) => void
}

interface QueuedMessage {
  readonly text: string
  /** The id of an `ask`. */
  readonly ask: string | undefined
  /** When it was given. */
  readonly at: number
}

/**
 * Messages from this node to another, between two of their incarnations: in order, and once, since a batch
 * that may have been lost is sent again with the same number. Messages of one turn of the event loop share a
 * batch.
 */
export class MessageQueue {
  readonly #input: MessageQueueInput
  readonly #closed = new AbortController()
  #waiting: QueuedMessage[] = []
  #chars = 0
  #sent = 0
  #sending: Promise<void> | undefined
  #turn: unknown
  /** Messages of the batch that is being sent. Those that are still here at the end were not sent. */
  #inFlight: readonly QueuedMessage[] = []
  /** Batches that may be in the inbox twice: a copy that comes back does not tell whether the other was taken. */
  readonly #doubtful = new Set<number>()
  /** All batches up to this one count as such. */
  #doubtfulUpTo = 0

  constructor(input: MessageQueueInput) {
    this.#input = input
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** False when there is no room. */
  send(message: NodeMessage): boolean {
    const { maxInbox, world } = this.#input
    if (this.#closed.signal.aborted) return false
    if (this.#waiting.length >= maxInbox || this.#chars >= maxWaiting) return false
    const text = packMessage(message)
    const isAsk = message.for === 'port' && message.what.type === 'ask'
    this.#waiting.push({ text, ask: isAsk ? message.what.id : undefined, at: world.now() })
    this.#chars += text.length
    if (this.#sending === undefined)
      // of no process: who sends may end before the turn does
      this.#turn ??= outside(() => world.setImmediate(() => void this.#start()))
    return true
  }

  /** Resolves when all messages are sent, or it is closed. */
  async drained(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) await this.#start()
  }

  /** Ends it, and resolves with the asks that were certainly not sent. */
  async close(): Promise<readonly string[]> {
    const { world } = this.#input
    this.#closed.abort()
    if (this.#turn !== undefined) world.clearImmediate(this.#turn)
    await this.#sending
    const unsent = [...this.#inFlight, ...this.#waiting]
    this.#waiting = []
    return unsent.flatMap(({ ask }) => (ask === undefined ? [] : [ask]))
  }

  isDoubtful(number: number): boolean {
    return number <= this.#doubtfulUpTo || this.#doubtful.has(number)
  }

  #doubt(number: number): void {
    this.#doubtful.add(number)
    const [oldest] = this.#doubtful
    if (this.#doubtful.size <= maxDoubtful || oldest === undefined) return
    this.#doubtful.delete(oldest)
    this.#doubtfulUpTo = oldest
  }

  #start(): Promise<void> {
    this.#turn = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closed.signal.aborted) {
      this.#inFlight = this.#nextBatch()
      this.#sent += 1
      await this.#deliver(this.#sent)
    }
  }

  #nextBatch(): readonly QueuedMessage[] {
    let chars = 0
    const end = this.#waiting.findIndex(({ text }, index) => {
      const isFull = index === maxMessages || (index > 0 && chars + text.length > fullBatch)
      if (!isFull) chars += text.length
      return isFull
    })
    this.#chars -= chars
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #deliver(number: number): Promise<void> {
    const { head, maxInbox, world, gone } = this.#input
    const { signal } = this.#closed
    let batch = this.#write(number)
    while (!signal.aborted) {
      const engine = this.#input.engine()
      if (engine?.isUp !== true) {
        await pause(retryLost, world, signal)
        continue
      }
      try {
        const outcome = await engine.send(head.to, head.from, [batch], maxInbox)
        if (outcome === 'taken') {
          this.#inFlight = []
          return
        }
        if (outcome === 'gone') return gone()
        if (this.#giveUp()) batch = this.#write(number)
        await pause(retryFull, world, signal)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        // it may have arrived: retries must not change the batch
        this.#doubt(number)
        this.#inFlight = []
        await pause(retryLost, world, signal)
      }
    }
  }

  #write(number: number): string {
    const { head, seal } = this.#input
    return writeBatch(
      { ...head, number },
      this.#inFlight.map(({ text }) => text),
      seal,
    )
  }

  /** Drops asks that have waited too long; true if the batch in flight has to be written anew. */
  #giveUp(): boolean {
    const { world, late } = this.#input
    const isLate = ({ ask, at }: QueuedMessage): boolean =>
      ask !== undefined && world.now() - at >= askTimeout
    const [leaving, waiting] = [this.#inFlight, this.#waiting]
    const given = [...leaving, ...waiting].filter(isLate)
    if (given.length === 0) return false
    this.#inFlight = leaving.filter((packed) => !isLate(packed))
    this.#waiting = waiting.filter((packed) => !isLate(packed))
    this.#chars = this.#waiting.reduce((sum, { text }) => sum + text.length, 0)
    for (const { ask } of given) late(ask as string)
    return this.#inFlight.length < leaving.length
  }
}

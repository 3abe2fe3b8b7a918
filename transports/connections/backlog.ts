import { heapLimit } from '../../runtime/base/heap.js'
import { outside } from '../../runtime/faults/containment.js'
import type { World } from '../../runtime/time/world.js'
import type { Peer } from '../contract/contract.js'

interface WaitingMessage {
  readonly text: string
  readonly peer: Peer
}

interface BacklogLimits {
  /** Messages that may wait: what one chunk may bring after reading has paused. */
  readonly hard: number
  /** Messages taken in one turn of the event loop, so that a flood delays no other. */
  readonly perTurn: number
}

/** Messages, and characters of them, that may wait before reading pauses. */
const maxMessages = 1_000
const maxSize = 4 * 1024 * 1024
/** Messages of one connection in one turn. */
const perTurn = { most: 100, fewest: 1 }

/**
 * How many messages of a connection may begin in one turn: all their answers are in memory before the first
 * is written, each as a value and as a text, and together they are to be an eighth of the heap at most: other
 * connections have their turns.
 */
export function messagesPerTurn(maxMessageBytes: number | undefined): number {
  if (maxMessageBytes === undefined) return perTurn.most
  const fit = Math.floor(heapLimit() / 16 / maxMessageBytes)
  return Math.max(perTurn.fewest, Math.min(perTurn.most, fit))
}

/** What has come in on one connection and waits for its turn, or for a listener. */
export class Backlog {
  readonly #again: () => void
  readonly #limits: BacklogLimits
  readonly #world: World
  #all: WaitingMessage[] = []
  #size = 0
  #left: number
  #nextTurn: unknown = null

  /** `again` is called the turn after a used-up one. */
  constructor(again: () => void, limits: BacklogLimits, world: World) {
    this.#again = again
    this.#world = world
    this.#limits = limits
    this.#left = limits.perTurn
  }

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  /** Whether nothing more should be read for now. */
  get isFull(): boolean {
    return this.#all.length >= maxMessages || this.#size >= maxSize
  }

  /** False when it was not taken: too many wait already. */
  push(message: WaitingMessage): boolean {
    if (this.#all.length >= this.#limits.hard) return false
    this.#all.push(message)
    this.#size += message.text.length
    return true
  }

  shift(): WaitingMessage | undefined {
    if (this.isEmpty || !this.#mayTake()) return undefined
    const next = this.#all.shift()
    if (next !== undefined) this.#size -= next.text.length
    return next
  }

  clear(): void {
    if (this.#nextTurn !== null) this.#world.clearImmediate(this.#nextTurn)
    this.#all = []
    this.#size = 0
  }

  #mayTake(): boolean {
    if (this.#nextTurn !== null) return false
    this.#left -= 1
    if (this.#left >= 0) return true
    this.#nextTurn = outside(() =>
      this.#world.setImmediate(() => {
        this.#nextTurn = null
        this.#left = this.#limits.perTurn
        this.#again()
      }),
    )
    return false
  }
}

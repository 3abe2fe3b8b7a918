import { Turns } from './turns.js'
import type { Peer } from '../contract/contract.js'

/** A message that waits to be taken. */
export interface WaitingMessage {
  readonly text: string
  readonly peer: Peer
}

/** Messages, and characters of them, that may wait before reading pauses. */
const maxMessages = 1_000
const maxSize = 4 * 1024 * 1024
/** Messages that may still come in one chunk after that. */
const hardLimit = 10_000

/** What has come in on one connection and waits for its turn, or for a listener. */
export class Backlog {
  readonly #turns: Turns
  #all: WaitingMessage[] = []
  #size = 0

  /** `again` is called when more may be taken than in the turn that was used up. */
  constructor(again: () => void) {
    this.#turns = new Turns(again)
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
    if (this.#all.length >= hardLimit) return false
    this.#all.push(message)
    this.#size += message.text.length
    return true
  }

  /** The next one; undefined where there is none, or none in this turn. */
  shift(): WaitingMessage | undefined {
    if (this.isEmpty || !this.#turns.take()) return undefined
    const next = this.#all.shift()
    if (next !== undefined) this.#size -= next.text.length
    return next
  }

  clear(): void {
    this.#turns.stop()
    this.#all = []
    this.#size = 0
  }
}

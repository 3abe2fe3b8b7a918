import type { World } from '../../runtime/time/world.js'
import { outside } from '../../runtime/faults/containment.js'
import { pause } from '../../runtime/time/wait.js'
import type { Engine } from '../engine/engine.js'
import { packParcel, type LetterHead, type Parcel, writeLetter } from './letter.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

/** Parcels in one letter, and characters after which no more are added. */
const maxParcels = 256
const fullLetter = 256 * 1024
/** Characters that may wait for one node; one parcel always may. */
const maxWaiting = 32 * 1024 * 1024
/** Milliseconds that a node has to take what it was sent: who asks it waits no longer for room. */
const patience = 5_000
/** Milliseconds until a letter that there was no room for is sent once more. */
const retryFull = 25
/** The same where nobody knows whether it has arrived. */
const retryLost = 100

export interface LinkInput {
  readonly head: Omit<LetterHead, 'number'>
  readonly seal: Seal
  readonly world: World
  /** Texts that may wait in the inbox of a node, and parcels that may wait here. */
  readonly maxInbox: number
  /** Undefined while there is none. */
  readonly engine: () => Engine | undefined
  /** The lease of the node is over. */
  readonly gone: () => void
  /** There was no room for this ask for a long time: it was not sent. */
  readonly late: (ask: string) => void
}

interface Packed {
  readonly text: string
  /** The id of an `ask`. */
  readonly ask: string | undefined
  /** When it was given. */
  readonly at: number
}

/**
 * What goes from this node to another, between two incarnations of theirs: in order, and once, as a letter that
 * may have been lost is sent again with the same number. What is given in one turn of the event loop shares a
 * letter.
 */
export class Link {
  readonly #input: LinkInput
  readonly #closed = new AbortController()
  #waiting: Packed[] = []
  #chars = 0
  #sent = 0
  #pumping: Promise<void> | undefined
  #turn: unknown
  /** What was about to leave; it has not, if this is still here in the end. */
  #leaving: readonly Packed[] = []
  /** Letters that may be in the inbox twice: nobody can tell from a copy whether the other was taken. */
  readonly #doubtful = new Set<number>()

  constructor(input: LinkInput) {
    this.#input = input
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** False when there is no room. */
  send(parcel: Parcel): boolean {
    const { maxInbox, world } = this.#input
    if (this.#closed.signal.aborted) return false
    if (this.#waiting.length >= maxInbox || this.#chars >= maxWaiting) return false
    const text = packParcel(parcel)
    const isAsk = parcel.for === 'port' && parcel.what.type === 'ask'
    this.#waiting.push({ text, ask: isAsk ? parcel.what.id : undefined, at: world.now() })
    this.#chars += text.length
    if (this.#pumping === undefined)
      // of no process: who sends may end before the turn does
      this.#turn ??= outside(() => world.setImmediate(() => void this.#start()))
    return true
  }

  /** Resolves when all that was given has left, or it is closed. */
  async drained(): Promise<void> {
    while (this.#waiting.length > 0 || this.#pumping !== undefined) await this.#start()
  }

  /** Ends it, and resolves with the asks that have surely not left. */
  async close(): Promise<readonly string[]> {
    const { world } = this.#input
    this.#closed.abort()
    if (this.#turn !== undefined) world.clearImmediate(this.#turn)
    await this.#pumping
    const unsent = [...this.#leaving, ...this.#waiting]
    this.#waiting = []
    return unsent.flatMap(({ ask }) => (ask === undefined ? [] : [ask]))
  }

  isDoubtful(number: number): boolean {
    return this.#doubtful.has(number)
  }

  #start(): Promise<void> {
    this.#turn = undefined
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined
    })
    return this.#pumping
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closed.signal.aborted) {
      this.#leaving = this.#pack()
      this.#sent += 1
      await this.#post(this.#sent)
    }
  }

  #pack(): readonly Packed[] {
    let chars = 0
    const end = this.#waiting.findIndex(({ text }, index) => {
      const isFull = index === maxParcels || (index > 0 && chars + text.length > fullLetter)
      if (!isFull) chars += text.length
      return isFull
    })
    this.#chars -= chars
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #post(number: number): Promise<void> {
    const { head, maxInbox, world, gone } = this.#input
    const { signal } = this.#closed
    let letter = this.#write(number)
    while (!signal.aborted) {
      const engine = this.#input.engine()
      if (engine?.isUp !== true) {
        await pause(retryLost, world, signal)
        continue
      }
      try {
        const outcome = await engine.send(head.to, head.from, [letter], maxInbox)
        if (outcome === 'taken') {
          this.#leaving = []
          return
        }
        if (outcome === 'gone') return gone()
        if (this.#giveUp()) letter = this.#write(number)
        await pause(retryFull, world, signal)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        // it may have arrived all the same: from now on it stays as it is
        this.#doubtful.add(number)
        this.#leaving = []
        await pause(retryLost, world, signal)
      }
    }
  }

  #write(number: number): string {
    const { head, seal } = this.#input
    return writeLetter(
      { ...head, number },
      this.#leaving.map(({ text }) => text),
      seal,
    )
  }

  /** Takes out what was asked long ago. Answers whether the letter that is leaving is another one by that. */
  #giveUp(): boolean {
    const { world, late } = this.#input
    const isLate = ({ ask, at }: Packed): boolean => ask !== undefined && world.now() - at >= patience
    const [leaving, waiting] = [this.#leaving, this.#waiting]
    const given = [...leaving, ...waiting].filter(isLate)
    if (given.length === 0) return false
    this.#leaving = leaving.filter((packed) => !isLate(packed))
    this.#waiting = waiting.filter((packed) => !isLate(packed))
    this.#chars = this.#waiting.reduce((sum, { text }) => sum + text.length, 0)
    for (const { ask } of given) late(ask as string)
    return this.#leaving.length < leaving.length
  }
}

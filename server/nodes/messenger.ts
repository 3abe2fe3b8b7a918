import type { World } from '../../runtime/time/world.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { ClusterSettings, Engine, Members } from '../engine/engine.js'
import { MessageQueue } from './message-queue.js'
import { type MessageBatch, type NodeMessage, readBatch } from './message-batch.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

/** Ended nodes that are remembered, to drop their late batches. */
const maxEnded = 1_000

interface MessengerInput {
  readonly node: string
  readonly world: World
  readonly seal: Seal
  readonly settings: ClusterSettings
  readonly engine: () => Engine | undefined
  /** False once the lease is over: then no message may be taken. */
  readonly mayTake: () => boolean
  /** A message has come. */
  readonly take: (from: string, message: NodeMessage) => void
  /** Nothing comes from a node any more of what it was asked before. */
  readonly gone: (node: string) => void
  /** An ask did not reach its node. */
  readonly undelivered: (node: string, id: string) => void
  /** An ask was not sent, as its node takes nothing. */
  readonly late: (node: string, id: string) => void
  /** Resolves when what is in the inbox now was received, or cannot be. */
  readonly looked: () => Promise<void>
  /** Whether the engine has lost nothing since the last beat. */
  readonly isSame: (engine: Engine) => Promise<boolean>
  /** Batches are missing, or a node is back that was reported as gone: this node has to begin anew. */
  readonly broken: () => void
}

interface RemoteNode {
  readonly incarnation: number
  readonly queue: MessageQueue
  /** When it was seen first. */
  readonly since: number
  /** The number of its last batch. */
  taken: number
}

/**
 * Exchanges messages with other nodes: each arrives once and in order, or the other node is reported as gone, on
 * both sides. The incarnation of a node counts how often it has begun anew, with nothing in flight; a batch
 * is void unless both incarnations are those that it was written for.
 */
export class Messenger {
  readonly #input: MessengerInput
  readonly #others = new Map<string, RemoteNode>()
  /** The incarnation in which a node has ended. */
  #ended = new TurnoverMap<string, number>()
  /** Nodes that have ended, while their last messages are read, and those to them are taken back. */
  readonly #ending = new Map<string, RemoteNode>()
  #incarnation = 1

  constructor(input: MessengerInput) {
    this.#input = input
  }

  get incarnation(): number {
    return this.#incarnation
  }

  /** Messages that wait here. */
  get waiting(): number {
    return [...this.#others.values()].reduce((sum, { queue: link }) => sum + link.waiting, 0)
  }

  /** False when there is no room. */
  send(to: string, message: NodeMessage): boolean {
    const other = this.#others.get(to)
    if (other !== undefined || !this.#ended.has(to)) return (other ?? this.#other(to, 1)).queue.send(message)
    // reported after this call has returned, as any other failure
    for (const id of asksOf([message]))
      this.#input.world.queueMicrotask(() => this.#input.undelivered(to, id))
    return true
  }

  /** Takes batches, in order. */
  receive(texts: readonly string[]): void {
    const { seal } = this.#input
    for (const text of texts) {
      // the lease is over and the node begins anew: the rest is void
      if (!this.#input.mayTake()) return
      const batch = readBatch(text, seal)
      if (batch?.to === this.#input.node) this.#open(batch)
      else if (batch !== undefined) seal.refuse('messages')
    }
  }

  /** The nodes that are there, by the answer to a beat that was sent at `sentAt`. */
  judge(nodes: Members['nodes'], sentAt: number): void {
    const { node } = this.#input
    const present = new Map(nodes.map(({ name, incarnation }) => [name, incarnation]))
    for (const [name, { since }] of [...this.#others])
      if (!present.has(name) && since < sentAt) void this.goneNode(name)
    for (const [name, incarnation] of present) {
      if (name === node) continue
      if (incarnation <= (this.#ended.get(name) ?? 0)) return this.#input.broken()
      this.#meet(name, incarnation)
    }
  }

  /** A node has ended: asks that it has not taken are reported as undelivered. */
  async goneNode(name: string): Promise<void> {
    const { node, seal, gone, undelivered } = this.#input
    const other = this.#others.get(name)
    if (other === undefined) return
    const incarnation = this.#incarnation
    this.#others.delete(name)
    this.#noteEnded(name, other.incarnation)
    this.#ending.set(name, other)
    const unsent = await other.queue.close()
    // its last messages may be in the inbox
    await this.#input.looked()
    const untaken = (await this.#takeBack(name)).flatMap((text) => {
      const batch = readBatch(text, seal)
      const isVoid = batch === undefined || batch.fromIncarnation !== incarnation || batch.from !== node
      return isVoid || other.queue.isDoubtful(batch.number) ? [] : asksOf(batch.messages)
    })
    if (this.#ending.get(name) !== other) return
    this.#ending.delete(name)
    for (const id of [...untaken, ...unsent]) undelivered(name, id)
    gone(name)
  }

  /** Drops all that is in flight, both ways. */
  beginAnew(): void {
    const names = [...this.#others.keys(), ...this.#ending.keys()]
    this.close()
    this.#ending.clear()
    this.#ended = new TurnoverMap()
    this.#incarnation += 1
    for (const name of names) this.#input.gone(name)
  }

  /** Resolves when all is sent. */
  async drained(): Promise<void> {
    await Promise.all([...this.#others.values()].map(({ queue: link }) => link.drained()))
  }

  close(): void {
    for (const { queue: link } of this.#others.values()) void link.close()
    this.#others.clear()
  }

  #open(batch: MessageBatch): void {
    const { from, fromIncarnation, toIncarnation, number } = batch
    if (toIncarnation !== this.#incarnation) return
    const mourned = this.#ending.get(from)
    const isLast = mourned?.incarnation === fromIncarnation
    if (!isLast && fromIncarnation <= (this.#ended.get(from) ?? 0)) return
    const other = isLast ? mourned : this.#meet(from, fromIncarnation)
    if (other.incarnation !== fromIncarnation || number <= other.taken) return
    if (number !== other.taken + 1) return this.#input.broken()
    other.taken = number
    for (const message of batch.messages) {
      if (!this.#input.mayTake() || toIncarnation !== this.#incarnation) return
      this.#input.take(from, message)
    }
  }

  /** The node in this incarnation: what was in flight with an earlier one is lost. */
  #meet(name: string, incarnation: number): RemoteNode {
    const known = this.#others.get(name)
    if (known === undefined) return this.#other(name, incarnation)
    if (known.incarnation >= incarnation) return known
    void known.queue.close()
    this.#others.delete(name)
    const other = this.#other(name, incarnation)
    this.#input.gone(name)
    return other
  }

  /** A node that is not known yet is assumed in this incarnation; it answers if it is in another one. */
  #other(name: string, incarnation: number): RemoteNode {
    const known = this.#others.get(name)
    if (known !== undefined) return known
    const { node, world, seal, settings, engine } = this.#input
    // it is back
    if (this.#ending.delete(name)) this.#input.gone(name)
    const head = {
      from: node,
      fromIncarnation: this.#incarnation,
      to: name,
      toIncarnation: incarnation,
    }
    const gone = (): void => {
      if (this.#others.get(name)?.queue === link) void this.goneNode(name)
    }
    const late = (id: string): void => this.#input.late(name, id)
    const link = new MessageQueue({ head, seal, world, maxInbox: settings.maxInbox, engine, gone, late })
    const other: RemoteNode = { incarnation, queue: link, since: world.now(), taken: 0 }
    this.#others.set(name, other)
    return other
  }

  /** Empty where the node may have taken them: then they are lost. */
  async #takeBack(name: string): Promise<readonly string[]> {
    const engine = this.#input.engine()
    if (engine === undefined) return []
    try {
      const texts = await engine.takeBack(name, this.#input.node)
      // an engine that has lost something may have forgotten what was taken
      return texts.length === 0 || (await this.#input.isSame(engine)) ? texts : []
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return []
    }
  }

  #noteEnded(name: string, incarnation: number): void {
    if (this.#ended.size >= maxEnded) {
      const [oldest] = this.#ended.entries().next().value ?? ['']
      this.#ended.delete(oldest)
    }
    this.#ended.set(name, incarnation)
  }
}

function asksOf(messages: readonly NodeMessage[]): string[] {
  return messages.flatMap((message) =>
    message.for === 'port' && message.what.type === 'ask' ? [message.what.id] : [],
  )
}

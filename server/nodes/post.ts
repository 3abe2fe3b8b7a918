import type { World } from '../../runtime/time/world.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { ClusterSettings, Engine, Members } from '../engine/engine.js'
import { Link } from './link.js'
import { type Letter, type Parcel, readLetter } from './letter.js'
import type { Seal } from './seal.js'
import { isUnavailable } from './unavailable.js'

/** Nodes that have ended, of which a late letter is known as one. */
const maxEnded = 1_000

export interface PostInput {
  readonly node: string
  readonly world: World
  readonly seal: Seal
  readonly settings: ClusterSettings
  readonly engine: () => Engine | undefined
  /** Whether what comes may be taken: a node whose lease is over does nothing more for others. */
  readonly mayTake: () => boolean
  /** A parcel has come. */
  readonly take: (from: string, parcel: Parcel) => void
  /** Nothing comes from a node any more of what it was asked before. */
  readonly gone: (node: string) => void
  /** An ask that did not reach its node. */
  readonly undelivered: (node: string, id: string) => void
  /** The same, as its node takes nothing. */
  readonly late: (node: string, id: string) => void
  /** Resolves when what had come until now was received, or cannot be. */
  readonly looked: () => Promise<void>
  /** Whether the engine has lost nothing since the last beat. */
  readonly isSame: (engine: Engine) => Promise<boolean>
  /** Letters are missing, or a node has come back that was told of as gone: this node has to begin anew. */
  readonly broken: () => void
}

interface Correspondent {
  readonly incarnation: number
  readonly link: Link
  /** When it was heard of first. */
  readonly since: number
  /** The number of its last letter. */
  taken: number
}

/**
 * What goes between this node and others: what is sent arrives once and in order, or the other node is told of
 * as gone, on both sides. An incarnation of a node is how often it has begun anew, with none of what had been
 * under way; a letter is void unless both incarnations are those that it was written for.
 */
export class Post {
  readonly #input: PostInput
  readonly #others = new Map<string, Correspondent>()
  /** The incarnation in which a node has ended. */
  #ended = new TurnoverMap<string, number>()
  /** Nodes that have ended while their last words are heard, and what was sent to them is taken back. */
  readonly #mourned = new Map<string, Correspondent>()
  #incarnation = 1

  constructor(input: PostInput) {
    this.#input = input
  }

  get incarnation(): number {
    return this.#incarnation
  }

  /** Parcels that wait here. */
  get waiting(): number {
    return [...this.#others.values()].reduce((sum, { link }) => sum + link.waiting, 0)
  }

  /** False when there is no room. */
  send(to: string, parcel: Parcel): boolean {
    const other = this.#others.get(to)
    if (other !== undefined || !this.#ended.has(to)) return (other ?? this.#other(to, 1)).link.send(parcel)
    // it may be that nobody has noticed yet: not before the caller has
    for (const id of asksOf([parcel])) this.#input.world.queueMicrotask(() => this.#input.undelivered(to, id))
    return true
  }

  /** Takes letters, in order. */
  receive(texts: readonly string[]): void {
    const { seal } = this.#input
    for (const text of texts) {
      // begins anew: what is left was sent before
      if (!this.#input.mayTake()) return
      const letter = readLetter(text, seal)
      if (letter?.to === this.#input.node) this.#open(letter)
      else if (letter !== undefined) seal.refuse('letter')
    }
  }

  /** What a beat that was sent at `sentAt` has told of the nodes. */
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

  /** A node has ended: what it has not taken comes back. */
  async goneNode(name: string): Promise<void> {
    const { node, seal, gone, undelivered } = this.#input
    const other = this.#others.get(name)
    if (other === undefined) return
    const incarnation = this.#incarnation
    this.#others.delete(name)
    this.#noteEnded(name, other.incarnation)
    this.#mourned.set(name, other)
    const unsent = await other.link.close()
    // its last words may be in the inbox
    await this.#input.looked()
    const untaken = (await this.#takeBack(name)).flatMap((text) => {
      const letter = readLetter(text, seal)
      const isVoid = letter === undefined || letter.fromIncarnation !== incarnation || letter.from !== node
      return isVoid || other.link.isDoubtful(letter.number) ? [] : asksOf(letter.parcels)
    })
    if (this.#mourned.get(name) !== other) return
    this.#mourned.delete(name)
    for (const id of [...untaken, ...unsent]) undelivered(name, id)
    gone(name)
  }

  /** Forgets all that is under way: what was asked is lost, both ways. */
  beginAnew(): void {
    const names = [...this.#others.keys(), ...this.#mourned.keys()]
    this.close()
    this.#mourned.clear()
    this.#ended = new TurnoverMap()
    this.#incarnation += 1
    for (const name of names) this.#input.gone(name)
  }

  /** Resolves when all has left. */
  async drained(): Promise<void> {
    await Promise.all([...this.#others.values()].map(({ link }) => link.drained()))
  }

  close(): void {
    for (const { link } of this.#others.values()) void link.close()
    this.#others.clear()
  }

  #open(letter: Letter): void {
    const { from, fromIncarnation, toIncarnation, number } = letter
    if (toIncarnation !== this.#incarnation) return
    const mourned = this.#mourned.get(from)
    const isLast = mourned?.incarnation === fromIncarnation
    if (!isLast && fromIncarnation <= (this.#ended.get(from) ?? 0)) return
    const other = isLast ? mourned : this.#meet(from, fromIncarnation)
    if (other.incarnation !== fromIncarnation || number <= other.taken) return
    if (number !== other.taken + 1) return this.#input.broken()
    other.taken = number
    for (const parcel of letter.parcels) {
      if (!this.#input.mayTake() || toIncarnation !== this.#incarnation) return
      this.#input.take(from, parcel)
    }
  }

  /** A node in its present incarnation: an earlier one has lost all. */
  #meet(name: string, incarnation: number): Correspondent {
    const known = this.#others.get(name)
    if (known === undefined) return this.#other(name, incarnation)
    if (known.incarnation >= incarnation) return known
    void known.link.close()
    this.#others.delete(name)
    const other = this.#other(name, incarnation)
    this.#input.gone(name)
    return other
  }

  /** One that is not known yet is taken to be in this incarnation; if it is in another one, it tells. */
  #other(name: string, incarnation: number): Correspondent {
    const known = this.#others.get(name)
    if (known !== undefined) return known
    const { node, world, seal, settings, engine } = this.#input
    // it is back
    if (this.#mourned.delete(name)) this.#input.gone(name)
    const head = {
      from: node,
      fromIncarnation: this.#incarnation,
      to: name,
      toIncarnation: incarnation,
    }
    const gone = (): void => {
      if (this.#others.get(name)?.link === link) void this.goneNode(name)
    }
    const late = (id: string): void => this.#input.late(name, id)
    const link = new Link({ head, seal, world, maxInbox: settings.maxInbox, engine, gone, late })
    const other: Correspondent = { incarnation, link, since: world.now(), taken: 0 }
    this.#others.set(name, other)
    return other
  }

  /** Nothing where it is not sure that the node has not taken it: then it is lost. */
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

function asksOf(parcels: readonly Parcel[]): string[] {
  return parcels.flatMap((parcel) =>
    parcel.for === 'port' && parcel.what.type === 'ask' ? [parcel.what.id] : [],
  )
}

import type { World } from '../../runtime/time/world.js'
import type { ClusterSettings, Engine, Members, NodeFacts } from '../engine/engine.js'
import { Lease } from './lease.js'
import { isUnavailable } from './unavailable.js'

interface MembershipInput {
  readonly node: string
  readonly world: World
  readonly settings: ClusterSettings
  /** Undefined while there is none. */
  readonly engine: () => Engine | undefined
  readonly facts: () => NodeFacts
  /** Whether this node and another one understand each other. */
  readonly suits: (facts: NodeFacts) => boolean
  /** The lease is over: the others take this node for gone. */
  readonly lapsed: () => void
  /** The engine is not what it was: it may have lost what it was told last, or all. */
  readonly restarted: (members: Members) => void
  /** What a beat has told that was sent at `sentAt`. */
  readonly heard: (members: Members, sentAt: number) => void
  /** Asks whether the sessions of this node are still its own. */
  readonly reclaim: (engine: Engine, mayRestore: boolean) => Promise<void>
  /** A beat is wanted now. */
  readonly hurry: () => void
}

const foreign = 'nodes with other keys, or another edition of this library, that were there before this one'

/**
 * This node among the others: its lease, and whether it is sure which sessions are its own. It is, once a beat
 * has succeeded, and, if the lease was over meanwhile or the engine has lost something, all are claimed anew.
 */
export class Membership {
  readonly #input: MembershipInput
  readonly #lease: Lease
  #nodes: Members['nodes'] = []
  /** Nodes that this one cannot talk to. */
  #strangers: readonly string[] = []
  /** Those of them that this one leaves the sessions to, as they were there before it. */
  #elders: readonly string[] = []
  /** When this node came, in ms by the clock of the engine. */
  #joinedAt: number | undefined
  /** Whether it has served for a lease: strangers that come later have to defer to it. */
  #hasServed = false
  #run: string | undefined
  /** When the engine was reached, again or for the first time; undefined until then. */
  #since: number | undefined
  /** Whether the engine has been there all the time since it was reached for the first time. */
  #isFresh = true
  /** When the engine was found to have lost something. */
  #lostAt = Number.NEGATIVE_INFINITY
  /** Whether the end of the lease was noticed; before the first beat there is none. */
  #hasLapsed = true
  /** Grows whenever sessions may have become others'. */
  #doubts = 0
  /** The doubts that have been cleared. */
  #cleared = 0
  #mayRestore = false
  #isBeating = false
  #beatsAgain = false
  #isClearing = false
  /** What the engine has said to the last beat, if it refused it. */
  #refusal: string | undefined
  /** An answer that is awaited, and the one after it. */
  #asked: Promise<Members> | undefined
  #next: Promise<Members> | undefined

  constructor(input: MembershipInput) {
    this.#input = input
    this.#lease = new Lease(input.settings.lease, input.world)
  }

  /** Milliseconds left of the lease; 0 and less when it is over. */
  get lease(): number {
    return this.#lease.left
  }

  /** All nodes that were there at the last beat, and that this one can talk to. */
  get nodes(): Members['nodes'] {
    return this.#nodes
  }

  /** Nodes that were there at the last beat, and that this one cannot talk to. */
  get strangers(): readonly string[] {
    return this.#strangers
  }

  /** What others are to know of this node's place among them. */
  get standing(): Pick<NodeFacts, 'isSettled' | 'joinedAt' | 'defers'> {
    return { isSettled: this.isSettled, joinedAt: this.#joinedAt, defers: this.#elders.length > 0 }
  }

  /** What of the problem may be told to anybody. */
  get reason(): string | undefined {
    return this.#elders.length > 0 ? foreign : undefined
  }

  get doubts(): number {
    return this.#doubts
  }

  /** Why no session may be served; undefined: this node knows which ones are its own. */
  get problem(): string | undefined {
    if (this.#lease.isOver) return this.#refusal ?? 'was not reached in time'
    if (this.#since === undefined || this.#cleared < this.#doubts)
      return 'is being asked which sessions are those of this node'
    if (this.#elders.length > 0) return `is that of ${foreign}: ${this.#elders.join(', ')}`
    return undefined
  }

  /**
   * Everybody may come back together with this node, also the owner of a session. A node that has just started
   * goes by those that have been there for longer.
   */
  get mayTakeOver(): boolean {
    const { node } = this.#input
    return (
      this.isSettled || (this.#isFresh && this.#nodes.some((each) => each.isSettled && each.name !== node))
    )
  }

  /** Whether it has been there for a lease, or need not wait for it. */
  get isSettled(): boolean {
    const { world, settings } = this.#input
    const time = settings.isPrivate === true ? 0 : settings.lease
    return this.#since !== undefined && world.now() - this.#since >= time
  }

  #unsettle(): void {
    if (this.#run !== undefined) this.#isFresh = false
    this.#since = undefined
  }

  /** Whether the lease is over. The first one who notices it ends all that was under way with other nodes. */
  lapses(): boolean {
    if (!this.#lease.isOver) return false
    if (this.#hasLapsed) return true
    this.#hasLapsed = true
    this.#unsettle()
    this.#doubts += 1
    this.#input.lapsed()
    return true
  }

  /** The engine is away. It may have noticed earlier, and have ended the lease before it is over here. */
  noteAway(): void {
    this.#lease.shorten()
    this.#unsettle()
    this.#doubts += 1
  }

  /** The node takes part no more. */
  leave(): void {
    this.#lease.end()
    this.#hasLapsed = true
    this.#unsettle()
    this.#nodes = []
    this.#strangers = []
    this.#elders = []
    this.#joinedAt = undefined
    this.#hasServed = false
  }

  /** Renews the lease, and hears of the others. */
  async beat(): Promise<void> {
    const { node, world, settings, facts } = this.#input
    const engine = this.#input.engine()
    // who waits for others is told, also while no engine is there to ask
    this.lapses()
    if (this.#isBeating || engine?.isUp !== true) return
    this.#isBeating = true
    this.#beatsAgain = false
    try {
      const sentAt = world.now()
      const members = await engine.beat(node, settings.lease, facts())
      this.#refusal = undefined
      if (this.#input.engine() === engine && engine.isUp) this.#learn(members, sentAt)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      this.#refusal = `does not take this node's beats: ${error.message}`
    } finally {
      this.#isBeating = false
      if (this.#beatsAgain) this.#input.hurry()
    }
  }

  /** Beats now, or as soon as the beat that is under way is over. */
  hurry(): void {
    this.#beatsAgain = true
    if (!this.#isBeating) this.#input.hurry()
  }

  /** Whether the engine may have lost a session that its owner still has, and is about to bring back. */
  async mayHaveLost(engine: Engine): Promise<boolean> {
    const { world, settings } = this.#input
    return !(await this.isSame(engine)) || world.now() - this.#lostAt < settings.lease
  }

  /** Whether the engine has lost nothing since the last beat. */
  async isSame(engine: Engine): Promise<boolean> {
    const run = this.#run
    const members = await this.#ask(engine)
    if (members.run === run) return true
    this.hurry()
    return false
  }

  async isThere(engine: Engine, node: string): Promise<boolean> {
    const { nodes } = await this.#ask(engine)
    return nodes.some((each) => each.name === node && this.#input.suits(each))
  }

  /** All who ask while an answer is awaited share the next one. */
  #ask(engine: Engine): Promise<Members> {
    if (this.#asked === undefined) return this.#askNow(engine)
    const again = (): Promise<Members> => this.#askNow(engine)
    this.#next ??= this.#asked.then(again, again)
    return this.#next
  }

  #askNow(engine: Engine): Promise<Members> {
    const { node, settings, facts } = this.#input
    this.#next = undefined
    const asked = engine.beat(node, settings.lease, facts())
    this.#asked = asked
    const done = (): void => {
      if (this.#asked === asked) this.#asked = undefined
    }
    asked.then(done, done)
    return asked
  }

  #learn(members: Members, sentAt: number): void {
    const { run } = members
    // the program may have been stopped for a while before it read this
    this.lapses()
    this.#lease.renew(sentAt, members.lease)
    if (this.#lease.isOver) return
    this.#hasLapsed = false
    if (this.#run !== undefined && run !== this.#run) this.#noteRestart(members)
    this.#run = run
    this.#since ??= sentAt
    const nodes = members.nodes.filter((each) => this.#input.suits(each))
    this.#nodes = nodes
    const strangers = members.nodes.filter(({ name }) => !this.#isThere(name))
    this.#strangers = strangers.map(({ name }) => name)
    this.#joinedAt ??= members.now
    this.#defer(strangers)
    this.#input.heard({ ...members, nodes }, sentAt)
    if (this.#cleared < this.#doubts && !this.#isClearing) void this.#clear()
  }

  #isThere(node: string): boolean {
    return this.#nodes.some(({ name }) => name === node)
  }

  /**
   * Sessions are served on one side only, or messages that come to the other one would be refused: by those that
   * were there before. A node that leaves them to others does so until none of those is there, also of such as
   * have come later.
   */
  #defer(strangers: Members['nodes']): void {
    const { node } = this.#input
    const isDeferring = this.#elders.length > 0
    if (this.#hasServed && !isDeferring) return
    const elders = strangers.filter(({ name, joinedAt = Number.POSITIVE_INFINITY, defers }) => {
      const age = joinedAt - Number(this.#joinedAt)
      return defers !== true && (isDeferring || age < 0 || (age === 0 && name < node))
    })
    // an engine that has lost something hears of them again
    if (elders.length > 0 || this.isSettled) this.#elders = elders.map(({ name }) => name)
    this.#hasServed ||= this.isSettled && this.#elders.length === 0
  }

  #noteRestart(members: Members): void {
    this.#lostAt = this.#input.world.now()
    this.#unsettle()
    this.#doubts += 1
    this.#mayRestore = true
    this.#input.restarted(members)
  }

  /** Beats go on meanwhile. What fails is tried again at the next one. */
  async #clear(): Promise<void> {
    const engine = this.#input.engine()
    const doubts = this.#doubts
    if (engine === undefined) return
    this.#isClearing = true
    try {
      await this.#input.reclaim(engine, this.#mayRestore)
      if (doubts !== this.#doubts) return
      this.#cleared = doubts
      this.#mayRestore = false
    } catch (error) {
      if (!isUnavailable(error)) throw error
    } finally {
      this.#isClearing = false
    }
  }
}

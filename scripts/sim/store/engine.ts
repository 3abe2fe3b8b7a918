import { AsyncResource } from 'node:async_hooks'
import type { ActorContext } from '../../../runtime/process/context.js'
import { systemWorld, type World } from 'caduceus/runtime'
import type { ClusterEngine, ClusterSettings, Engine } from '../../../server/engine/engine.js'
import { TransportError } from 'caduceus/transports'
import { createRandom, type Random } from '../../soak/random.js'
import { happens } from '../world/chance.js'
import { EngineState } from './engine-state.js'

/** Where an engine runs: its time goes on while programs are frozen, and after their end. */
export interface Ground {
  now(): number
  after(ms: number, label: string, fn: () => void): void
}

/** How an engine behaves from now on. */
export interface EngineQuality {
  /** Shortest and longest ms of a command, there and back. */
  readonly delay: readonly [number, number]
  /** Share of commands that are done, and then rejected: their answer, and the connection, are lost. */
  readonly loses: number
  /** Share of bells that are lost. */
  readonly losesBells: number
  /** Share of commands after which a bell rings in vain. */
  readonly ringsInVain: number
}

export const goodEngine: EngineQuality = { delay: [0.1, 2], loses: 0, losesBells: 0, ringsInVain: 0 }

/** What of a way does not get through: commands to the engine, its answers, its bells. */
export type Cut = 'commands' | 'answers' | 'bells'

export const wholeWay: readonly Cut[] = ['commands', 'answers', 'bells']

/** ms that a command may take. */
const patience = 1_000
/** ms between two tries to connect. */
const retryPause = 200
/** ms that the first connection may take. */
const openPatience = 5_000

export type Done =
  | { readonly type: 'saved'; readonly place: string; readonly session: string; readonly text: string }
  | { readonly type: 'deleted'; readonly place: string; readonly session: string }

/** The way of one machine to the engine: what was cut there stays so over connections. */
interface Way {
  cut: readonly Cut[]
  /** What is on its way through a cut: the system sends it again once it can. */
  readonly held: (() => void)[]
  readonly links: Set<Link>
}

/**
 * What the nodes of a simulated cluster share: an engine in memory, of which each machine has a way of its own
 * (`at`). What it keeps and answers is in `state`, how it fails is in the hands of the simulation.
 */
export class FakeEngine {
  readonly settings: ClusterSettings
  readonly state: EngineState
  readonly ground: Ground
  readonly chance: Random
  readonly #ways = new Map<string, Way>()
  readonly #held: (() => void)[] = []
  #phase: 'up' | 'frozen' | 'away' = 'up'
  #snapshot: ReturnType<EngineState['snapshot']> | undefined
  #runs = 1
  quality = goodEngine
  /** What it says of how it may lose things. */
  risk: string | undefined
  /** Connections of another incarnation are reset. */
  incarnation = 1
  /** Hears what is done of what machines have asked, as it is. */
  told: ((done: Done) => void) | undefined

  constructor(ground: Ground, chance: Random, settings: Partial<ClusterSettings> = {}) {
    this.settings = { lease: 2_500, keys: undefined, maxInbox: 10_000, ...settings }
    this.ground = ground
    this.chance = chance
    this.state = new EngineState(() => ground.now(), 'run 1')
  }

  /** The engine as a program on the machine `place` sees it. */
  at(place: string, world: World = systemWorld): ClusterEngine {
    const { settings } = this
    return {
      name: 'simulated engine',
      settings,
      open: (ctx, { node }) => this.#open(ctx, node, place, world),
    }
  }

  get phase(): 'up' | 'frozen' | 'away' {
    return this.#phase
  }

  /** What comes through no more: bells are lost, what else there is waits. */
  cut(place: string, what: readonly Cut[] = wholeWay): void {
    const way = this.#way(place)
    way.cut = what
    if (what.includes('bells')) for (const link of way.links) link.deafen()
  }

  heal(place: string): void {
    const way = this.#way(place)
    way.cut = []
    const held = way.held.splice(0)
    // the system of the machine has given up on it, or not
    if (happens(this.chance, 0.5)) for (const fn of held) fn()
  }

  /** The program on that machine has ended: the system closes its connections. */
  hangUp(place: string): void {
    const { links } = this.#way(place)
    for (const link of links) link.drop()
    links.clear()
  }

  /** It does nothing, and its connections stay. */
  freeze(): void {
    if (this.#phase === 'up') this.#phase = 'frozen'
  }

  thaw(): void {
    if (this.#phase !== 'frozen') return
    this.#phase = 'up'
    for (const fn of this.#held.splice(0)) fn()
  }

  /** It ends: connections are reset, and none comes about. */
  stop(): void {
    this.#phase = 'away'
    this.#held.length = 0
    this.incarnation += 1
    for (const { links } of this.#ways.values()) for (const link of links) link.reset()
  }

  /** It begins with what it had, or with nothing. */
  start({ wiped = false } = {}): void {
    this.#phase = 'up'
    this.#begin()
    if (wiped) this.state.restore()
  }

  /** Everything is deleted while it runs. */
  wipe(): void {
    this.state.restore()
    this.#begin()
  }

  /** The other one, which would take its place, hears nothing any more. */
  fallBehind(): void {
    this.#snapshot ??= this.state.snapshot()
  }

  /** The other one takes its place: what was done since `fallBehind` is lost. */
  failOver(): void {
    this.stop()
    this.start()
    if (this.#snapshot !== undefined) this.state.restore(this.#snapshot)
    this.#snapshot = undefined
  }

  /** Whether the node has a connection on which it hears bells. */
  isHeard(node: string): boolean {
    for (const { links } of this.#ways.values())
      for (const link of links) if (link.node === node && link.hears) return true
    return false
  }

  ring(bell: 'inbox' | 'news', node?: string): void {
    for (const way of this.#ways.values())
      for (const link of way.links) {
        if (!link.hears || (node !== undefined && link.node !== node)) continue
        if (happens(this.chance, this.quality.losesBells)) continue
        this.ground.after(this.#delay(), `bell ${bell} to ${link.node}`, () => {
          if (!way.cut.includes('bells') && this.#phase === 'up') link.hear(bell)
        })
      }
  }

  /** Takes something along a way, later; in the order in which it sets out. */
  carry(
    place: string,
    queue: (() => void)[],
    [what, name]: readonly ['commands' | 'answers', string],
    fn: () => void,
  ): void {
    const way = this.#way(place)
    queue.push(fn)
    this.ground.after(this.#delay(), `${place} ${what} ${name}`, () => {
      const first = queue.shift() as () => void
      if (way.cut.includes(what)) way.held.push(first)
      else first()
    })
  }

  /** Has a command done: now, when it goes on, or never. */
  work(incarnation: number, fn: () => void): void {
    if (this.incarnation !== incarnation) return
    if (this.#phase === 'frozen') this.#held.push(fn)
    else if (this.#phase === 'up') fn()
  }

  ways(place: string): Pick<Way, 'cut'> {
    return this.#way(place)
  }

  async #open(ctx: ActorContext, node: string, place: string, world: World): Promise<Engine> {
    const link = new Link(this, place, node, world)
    const { links } = this.#way(place)
    links.add(link)
    ctx.own(() => {
      link.end()
      links.delete(link)
    })
    const deadline = world.now() + openPatience
    while (!(await link.connect())) {
      if (link.hasEnded || world.now() + retryPause >= deadline) throw link.problem('cannot be reached')
      await link.pause(retryPause)
    }
    return link
  }

  #way(place: string): Way {
    const known = this.#ways.get(place) ?? { cut: [], held: [], links: new Set() }
    this.#ways.set(place, known)
    return known
  }

  #delay(): number {
    const [low, high] = this.quality.delay
    return (low + this.chance.next() * (high - low)) / 2
  }

  #begin(): void {
    this.#runs += 1
    this.state.run = `run ${this.#runs}`
  }
}

interface Asked {
  readonly reject: (error: Error) => void
  readonly timer: unknown
}

/** The connections of one program: for commands, and for bells. They are there together, or not at all. */
class Link implements Engine {
  readonly node: string
  readonly #engine: FakeEngine
  readonly #place: string
  readonly #world: World
  readonly #pending = new Set<Asked>()
  readonly #out: (() => void)[] = []
  readonly #back: (() => void)[] = []
  readonly #onHealth = new Set<(isUp: boolean) => void>()
  readonly #onBell = new Set<(bell: 'inbox' | 'news') => void>()
  /** What waits for a time, with what it then does. */
  readonly #timers = new Map<unknown, () => void>()
  #incarnation = 0
  #isUp = false
  hasEnded = false
  hears = false

  constructor(engine: FakeEngine, place: string, node: string, world: World) {
    this.#engine = engine
    this.#place = place
    this.node = node
    this.#world = world
  }

  get isUp(): boolean {
    return this.#isUp
  }

  get risk(): string | undefined {
    return this.#engine.risk
  }

  onHealth(fn: (isUp: boolean) => void): () => void {
    return listen(this.#onHealth, fn)
  }

  onBell(fn: (bell: 'inbox' | 'news') => void): () => void {
    return listen(this.#onBell, fn)
  }

  beat: Engine['beat'] = (node, lease, facts) =>
    this.#ask('beat', ({ state }) => state.beat(node, lease, facts, (name) => this.#engine.isHeard(name)))
  leave: Engine['leave'] = (node) => this.#ask('leave', ({ state }) => state.leave(node))
  claim: Engine['claim'] = (claim) => this.#ask('claim', ({ state }) => state.claim(claim))
  reclaim: Engine['reclaim'] = (claim, held) =>
    this.#ask('reclaim', ({ state }) => state.reclaim(claim, held))
  release: Engine['release'] = (...args) => this.#ask('release', ({ state }) => state.release(...args))
  ownerOf: Engine['ownerOf'] = (session) => this.#ask('ownerOf', ({ state }) => state.ownerOf(session))
  orphans: Engine['orphans'] = (max) => this.#ask('orphans', ({ state }) => state.orphans(max))
  versions: Engine['versions'] = (sessions) => this.#ask('versions', ({ state }) => state.versions(sessions))
  listed: Engine['listed'] = (...args) => this.#ask('listed', ({ state }) => state.listed(...args))
  load: Engine['load'] = (session) => this.#ask('load', ({ state }) => state.load(session))
  save: Engine['save'] = (node, session, epoch, saved) =>
    this.#ask('save', ({ state, told }) => {
      const isDone = state.save(node, session, epoch, saved)
      if (isDone) told?.({ type: 'saved', place: this.#place, session, text: saved.text })
      return isDone
    })
  delete: Engine['delete'] = (node, session, epoch) =>
    this.#ask('delete', ({ state, told }) => {
      const isDone = state.delete(node, session, epoch)
      if (isDone) told?.({ type: 'deleted', place: this.#place, session })
      return isDone
    })
  touch: Engine['touch'] = (...args) => this.#ask('touch', ({ state }) => state.touch(...args))
  send: Engine['send'] = (to, from, texts, max) =>
    this.#ask('send', ({ state }) => {
      const outcome = state.send(to, from, texts, max)
      if (outcome === 'taken') this.#engine.ring('inbox', to)
      return outcome
    })
  take: Engine['take'] = (node, max) => this.#ask('take', ({ state }) => state.take(node, max))
  takeBack: Engine['takeBack'] = (node, from) =>
    this.#ask('takeBack', ({ state }) => state.takeBack(node, from))
  publish: Engine['publish'] = (text) =>
    this.#ask('publish', ({ state }) => {
      const number = state.publish(text)
      this.#engine.ring('news')
      return number
    })
  news: Engine['news'] = (after) => this.#ask('news', ({ state }) => state.news(after))
  agree: Engine['agree'] = (...args) => this.#ask('agree', ({ state }) => state.agree(...args))
  value: Engine['value'] = (key) => this.#ask('value', ({ state }) => state.value(key))
  setValue: Engine['setValue'] = (...args) => this.#ask('setValue', ({ state }) => state.setValue(...args))
  placeLog: Engine['placeLog'] = (...args) => this.#ask('placeLog', ({ state }) => state.placeLog(...args))
  placeOfLog: Engine['placeOfLog'] = (log) => this.#ask('placeOfLog', ({ state }) => state.placeOfLog(log))
  append: Engine['append'] = (...args) => this.#ask('append', ({ state }) => state.append(...args))
  closeStream: Engine['closeStream'] = (stream) =>
    this.#ask('closeStream', ({ state }) => state.closeStream(stream))
  dropStream: Engine['dropStream'] = (stream) =>
    this.#ask('dropStream', ({ state }) => state.dropStream(stream))

  /** Tries once; true when it is up. */
  async connect(): Promise<boolean> {
    this.#incarnation = this.#engine.incarnation
    try {
      if (this.#engine.phase === 'away') throw this.problem('refuses connections')
      if (this.#engine.ways(this.#place).cut.includes('bells')) throw this.problem('tells nothing')
      await this.#command('connect', () => {
        this.hears = !this.hasEnded
      })
    } catch {
      return false
    }
    if (this.hasEnded || this.#incarnation !== this.#engine.incarnation) return false
    this.#turn(true)
    return true
  }

  /** The other end has closed the connections. */
  reset(): void {
    this.hears = false
    this.#world.setImmediate(() => this.#lose('has closed the connection'))
  }

  /** No bells come; it takes a while until somebody notices. */
  deafen(): void {
    this.hears = false
    this.#later(patience, () => {
      if (!this.hears) this.#lose('tells nothing')
    })
  }

  hear(bell: 'inbox' | 'news'): void {
    this.#world.setImmediate(() => {
      if (this.#isUp) for (const fn of [...this.#onBell]) fn(bell)
    })
  }

  end(): void {
    this.drop()
    this.#lose('is connected no more')
    for (const [timer, fn] of this.#timers) {
      this.#world.clearTimeout(timer)
      fn()
    }
    this.#timers.clear()
  }

  /** Nobody is there any more who could be told. */
  drop(): void {
    this.hears = false
    this.hasEnded = true
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#later(ms, resolve))
  }

  problem(what: string): TransportError {
    return new TransportError('CLUSTER_UNAVAILABLE', `the engine of the cluster ${what}`, {
      retryable: true,
      data: { engine: 'simulated engine' },
    })
  }

  #ask<Value>(what: string, work: (engine: FakeEngine) => Value): Promise<Value> {
    if (!this.#isUp) return Promise.reject(this.problem('is away'))
    const { chance, quality } = this.#engine
    const isLost = happens(chance, quality.loses)
    const ringsInVain = happens(chance, quality.ringsInVain)
    return this.#command(what, () => {
      const value = work(this.#engine)
      if (ringsInVain) this.#engine.ring(happens(chance, 0.5) ? 'inbox' : 'news', this.node)
      if (isLost) this.reset()
      return value
    })
  }

  #command<Value>(what: string, work: () => Value): Promise<Value> {
    const engine = this.#engine
    const incarnation = this.#incarnation
    return new Promise((resolve, reject) => {
      const timer = this.#world.setTimeout(() => this.#lose('does not answer'), patience)
      const asked = { reject, timer }
      this.#pending.add(asked)
      engine.carry(this.#place, this.#out, ['commands', what], () =>
        engine.work(incarnation, () => {
          const value = work()
          engine.carry(this.#place, this.#back, ['answers', what], () =>
            this.#world.setImmediate(() => {
              if (!this.#pending.delete(asked)) return
              this.#world.clearTimeout(timer)
              resolve(value)
            }),
          )
        }),
      )
    })
  }

  /** Nobody knows what became of what was asked; it connects again, as often as it takes. */
  #lose(why: string): void {
    for (const { reject, timer } of this.#pending) {
      this.#world.clearTimeout(timer)
      reject(this.problem(why))
    }
    this.#pending.clear()
    if (!this.#isUp) return
    this.hears = false
    this.#turn(false)
    this.#later(retryPause, () => void this.#reconnect())
  }

  /** Also at the end. */
  #later(ms: number, fn: () => void): void {
    if (this.hasEnded) return fn()
    const timer = this.#world.setTimeout(() => {
      this.#timers.delete(timer)
      fn()
    }, ms)
    this.#timers.set(timer, fn)
  }

  async #reconnect(): Promise<void> {
    if (this.hasEnded || this.#isUp || (await this.connect()) || this.hasEnded) return
    this.#later(retryPause, () => void this.#reconnect())
  }

  #turn(isUp: boolean): void {
    if (this.#isUp === isUp) return
    this.#isUp = isUp
    for (const fn of [...this.#onHealth]) fn(isUp)
  }
}

/** In the scope of who listens, as an emitter of the system does it. */
function listen<Args extends unknown[]>(
  listeners: Set<(...args: Args) => void>,
  fn: (...args: Args) => void,
): () => void {
  const bound = AsyncResource.bind(fn)
  listeners.add(bound)
  return () => void listeners.delete(bound)
}

/** An engine for a test: its time is that of a world, its draws are the same each time. */
export function fakeEngine(settings: Partial<ClusterSettings> = {}, world: World = systemWorld): FakeEngine {
  const after = (ms: number, _label: string, fn: () => void): void => void world.setTimeout(fn, ms)
  return new FakeEngine({ now: world.now, after }, createRandom(1), settings)
}

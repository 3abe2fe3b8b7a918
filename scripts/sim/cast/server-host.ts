import {
  defineTool,
  records,
  Registry,
  sealed,
  serveHttp,
  type Server,
  type ServerOptions,
  startServer,
} from '../../../index.js'
import type { Actor } from '../../../runtime/process/actor.js'
import { type ProcessRef, processOf } from '../../../runtime/process/ref.js'
import type { Hibernation } from '../../../server/holdings/hibernation.js'
import type { Holdings } from '../../../server/holdings/holdings-actor.js'
import type { Census } from '../history/history.js'
import type { Plan, ServerPlan } from '../plan/plan.js'
import { guardOf } from '../auth/guard.js'
import type { Done, FakeEngine } from '../store/engine.js'
import { normal } from '../../../runtime/base/exit.js'
import { Program } from '../world/program.js'
import type { TableCounts } from '../world/tables.js'
import { recordOf } from '../../../server/nodes/record-text.js'
import { Seal } from '../../../server/nodes/seal.js'
import { MemorySessions, type SessionStore } from '../../../server/engine/session-store.js'
import { type Simulated, simulatedServer } from './definition.js'
import type { Stage } from './stage.js'
import { Uses } from './uses.js'
import { countTree } from './watching.js'

/** ms that an orderly stop may take before it is ended. */
const stopTime = 60_000

/** ms that a connection of a stopped server may take to end. */
const lingerTime = 11_000

/** ms after which a node is started again that has not found its engine. */
const againAfter = 1_000

/** ms until a session that nobody uses ends, where the plan does not say. */
export const usualIdle = 90_000

/** What a node of a cluster belongs to. */
export interface Membership {
  readonly engine: FakeEngine
  /** The server that clients know. */
  readonly server: ServerPlan
}

/** A machine with a server on it, which is started again after each end, as by a service manager. */
export class ServerHost {
  readonly plan: ServerPlan
  readonly #membership: Membership | undefined
  readonly #stage: Stage
  /** Reads what its nodes sign. */
  readonly #seal: Seal
  #incarnation = 0
  isClosing = false
  /** What its clients do with their sessions. */
  readonly uses: Uses
  #wasKilled = false
  #program: Program | undefined
  #server: Server | undefined
  #registry: Registry | undefined
  #simulated: Simulated | undefined

  constructor(stage: Stage, plan: ServerPlan, membership?: Membership) {
    this.#stage = stage
    this.plan = plan
    this.#membership = membership
    this.#seal = new Seal(membership?.engine.settings.keys)
    this.uses = new Uses(() => stage.simulator.now, stage.farewells)
    stage.hosts.set(plan.name, this)
  }

  get program(): Program | undefined {
    return this.#program
  }

  get server(): Server | undefined {
    return this.#server
  }

  get registry(): Registry | undefined {
    return this.#registry
  }

  get root(): ProcessRef | undefined {
    return this.#server?.ref
  }

  get isUp(): boolean {
    return this.#server !== undefined && this.#program?.phase === 'running' && !this.isClosing
  }

  start(): void {
    if (this.#program !== undefined && this.#program.phase !== 'dead') return
    this.isClosing = false
    this.#wasKilled = false
    this.uses.forget()
    const { simulator, network, recorder, plan, broken } = this.#stage
    const { name, address, port, http, hooks } = this.plan
    this.#incarnation += 1
    const program = new Program(simulator, name, address, this.#incarnation)
    const registry = new Registry()
    this.#program = program
    this.#registry = registry
    network.light(address)
    const membership = this.#membership
    // the system of the machine knows nothing of connections that it had before
    membership?.engine.hangUp(name)
    recorder.add({ type: 'started', program: name })
    const changed = async (uri: string): Promise<void> => this.#server?.resourceUpdated(uri)
    const simulated = simulatedServer({ stage: this.#stage, name, program, hooks, changed })
    this.#simulated = simulated
    this.census('base')
    const begin = (): Promise<Server> =>
      startServer(simulated.definition, {
        name,
        transport: this.uses.watch(serveHttp({ host: address, port, ...http, ...this.#guard() })),
        clock: program.world,
        registry,
        logger: false,
        signals: false,
        onBlocked: 'ignore',
        ...this.#options(),
        ...this.#engine(program, plan.store),
      })
    program.enter(begin).then(
      (server) => {
        if (program.phase === 'dead') return
        this.#server = server
        this.#noteTables(program, 'fresh', this.#stage.tables.first(program))
      },
      (error: unknown) => {
        if (!isUnavailable(error)) return broken(`${name} does not start`, error)
        simulator.note(name, 'does not start without its engine')
        this.kill(false)
        simulator.after(againAfter, simulator.elsewhere, `starts ${name} again`, () => this.start())
      },
    )
  }

  #options(): Partial<ServerOptions> {
    const { revisions, limits, timeouts } = this.plan
    return { revisions, limits, timeouts: { drain: 5_000, idle: usualIdle, ...timeouts } }
  }

  /** Where what must survive lives; nothing where it is the memory of the program. */
  #engine(program: Program, store: Plan['store']): Pick<ServerOptions, 'engine'> {
    const { name, sealed: isSealed, keyed, timeouts } = this.plan
    const membership = this.#membership
    if (membership !== undefined) return { engine: membership.engine.at(name, program.world) }
    const keys = [`${name} `.padEnd(40, 'key ')]
    if (isSealed) return { engine: sealed({ keys }) }
    if (store === 'durable') return { engine: records({ ...this.#store(program), ...(keyed && { keys }) }) }
    if (!keyed) return {}
    const room = { maxSessions: 10_000, idleTimeout: timeouts.idle ?? usualIdle }
    const memory = new MemorySessions(room, program.world.now)
    return {
      engine: records({
        load: (id) => memory.load(id),
        save: (record) => memory.save(record),
        delete: (id) => memory.delete(id),
        keys,
      }),
    }
  }

  /** Who is let in, by the names that clients know. */
  #guard() {
    const server = this.#membership?.server
    const guard = guardOf(this.#stage.plan, server ?? this.plan)
    return server === undefined ? guard : { ...guard, allowedHosts: [server.address] }
  }

  /** What the engine of its cluster has done for it, as soon as it has. */
  noteDone(done: Done): void {
    const { recorder, broken } = this.#stage
    const { session } = done
    const program = this.plan.name
    if (done.type === 'deleted') return recorder.add({ type: 'ended', program, session })
    const record = this.#seal.open({ kind: 'session', place: session }, done.text, recordOf)
    if (record === undefined) return broken(`${program} saves what no node can read as session ${session}`)
    const elements = (record.state.list ?? []) as string[]
    if (this.#program?.phase !== 'dead') recorder.add({ type: 'saved', program, session, elements })
  }

  /** The store, which tells what it has acknowledged. */
  #store(program: Program): SessionStore {
    const { disk, recorder } = this.#stage
    const over = (session: string): void => recorder.add({ type: 'ended', program: program.name, session })
    const store = disk.storeOf(program)
    return {
      ...store,
      async save(record) {
        const { id, state } = record
        const elements = (state.list ?? []) as string[]
        const since = recorder.events.length
        await store.save(record)
        // nobody was told of what an actor saved that has ended meanwhile: the next one may know nothing of it
        const isLate = recorder.events
          .slice(since)
          .some((event) => event.type === 'released' && event.session === id)
        if (!isLate) recorder.add({ type: 'saved', program: program.name, session: id, elements })
      },
      async delete(id) {
        await store.delete(id)
        over(id)
      },
    }
  }

  /** A tool comes or goes: clients are told of it. */
  async change(name: string): Promise<void> {
    const server = this.#server
    const program = this.#program
    if (server === undefined || program?.phase !== 'running') return
    const tool = defineTool({ name, run: () => 'here' })
    const change = async (): Promise<void> => {
      if (!(await server.removeTool(name))) await server.addTool(tool)
    }
    await program.enter(change).catch(() => {}) // the server stops, or its base restarts
  }

  /** Ends all sessions, as if nobody had used them for long: clients have to open others. */
  endSessions(): void {
    const [program, registry] = [this.#program, this.#registry]
    const start = `${this.plan.name}/session `
    for (const name of registry?.names() ?? []) {
      if (!name.startsWith(start)) continue
      this.#stage.farewells.add(name.slice(start.length))
      program?.enter(
        () =>
          void registry
            ?.whereis(name)
            ?.stop(normal)
            .catch(() => {}),
      )
    }
    // one that hibernates has nobody to stop: its time is over
    for (const asleep of [...(this.#hibernation?.all() ?? [])]) {
      this.#stage.farewells.add(asleep.facts.id)
      this.#hibernation?.add({ ...asleep, until: Number.NEGATIVE_INFINITY })
    }
  }

  /** How many sessions run or hibernate here. */
  get sessions(): number {
    const start = `${this.plan.name}/session `
    const running = (this.#registry?.names() ?? []).filter((name) => name.startsWith(start)).length
    return running + (this.#hibernation?.size ?? 0)
  }

  get #hibernation(): Hibernation | undefined {
    const ref = this.#registry?.whereis(`${this.plan.name}/holdings`)
    const holdings = ref && ((processOf(ref) as Actor).state as Holdings | undefined)
    return holdings?.asleep
  }

  /** Tells all who want to know that a resource has changed. */
  async touch(uri: string, clients: readonly string[]): Promise<void> {
    const [server, program] = [this.#server, this.#program]
    if (server === undefined || program === undefined) return
    this.#stage.recorder.add({ type: 'changed', program: this.plan.name, uri, clients })
    await program.enter(() => server.resourceUpdated(uri)).catch(() => {})
  }

  #noteTables(program: Program, when: 'fresh' | 'rest', counts: TableCounts): void {
    this.#stage.recorder.add({ type: 'tables', program: program.name, when, counts })
  }

  /** Takes down what is left in the maps of the program. */
  rest(counts: TableCounts): void {
    if (this.#program !== undefined && this.isUp) this.#noteTables(this.#program, 'rest', counts)
  }

  /** Counts what the program holds. */
  census(when: Census['when']): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder, plan } = this.#stage
    recorder.add({
      type: 'census',
      program: this.plan.name,
      when,
      counts: {
        timers: program.timers,
        // what is asked of an authorization server is for all who wait, and ends by itself
        sockets: network.socketsOf(
          program,
          plan.issuers.map(({ address }) => address),
        ),
        names: this.#registry?.names().length ?? 0,
        // nobody runs the hooks of a tree that was killed from its root
        hooks: this.#wasKilled ? 0 : (this.#simulated?.begun() ?? 0),
        ...countTree(this.root),
      },
    })
  }

  /** kill -9, or the plug is pulled. */
  kill(isSilent: boolean): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder } = this.#stage
    network.lose(program, isSilent)
    if (!isSilent) this.#membership?.engine.hangUp(this.plan.name)
    program.die()
    this.#stage.tables.forget(program)
    this.#server = undefined
    recorder.add({ type: 'died', program: this.plan.name })
  }

  close(): Promise<void> {
    return this.stop()
  }

  /** Stops in order; is killed when that takes too long. */
  async stop(): Promise<void> {
    const server = this.#server
    const program = this.#program
    if (server === undefined || program === undefined) return
    this.isClosing = true
    const late = this.#stage.simulator.after(
      stopTime,
      this.#stage.simulator.elsewhere,
      'stops too late',
      () => {
        this.#stage.broken(`${this.plan.name} does not stop within ${stopTime} ms`)
        this.kill(false)
      },
    )
    const died = new Promise<void>((resolve) => program.onDeath(resolve))
    const wasKilled = !server.ref.alive
    this.#wasKilled = wasKilled
    await Promise.race([program.enter(() => server.stop()), died])
    late.cancelled = true
    if (this.#server !== server) return
    // keys that were being fetched, or what was below a supervisor that was killed: it ends by itself
    if (wasKilled || this.#stage.network.socketsOf(program) > 0) await this.#linger()
    if (this.#server !== server) return
    this.census('end')
    this.#server = undefined
    this.#stage.network.lose(program, false)
    this.#membership?.engine.hangUp(this.plan.name)
    program.die()
    this.#stage.recorder.add({ type: 'died', program: this.plan.name })
  }

  #linger(): Promise<void> {
    const { simulator } = this.#stage
    return new Promise((resolve) => {
      simulator.after(lingerTime, simulator.elsewhere, `${this.plan.name} ends`, resolve)
    })
  }
}

function isUnavailable(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  return code === 'CLUSTER_UNAVAILABLE' || (cause !== undefined && isUnavailable(cause))
}

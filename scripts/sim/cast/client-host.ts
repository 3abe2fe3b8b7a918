import {
  type Client,
  type ClientOptions,
  type ClientPool,
  type Clients,
  http,
  type OAuth,
  startClient,
  startClientPool,
  type StartClientOptions,
  startClients,
} from '../../../index.js'
import type { ProcessRef } from '../../../runtime/process/ref.js'
import type { ClientTransport } from '../../../transports/contract/contract.js'
import type { Census, Unstamped } from '../history/history.js'
import type { Act, ClientPlan, ServerPlan } from '../plan/plan.js'
import { helpTime, identityOf, someoneHelps, wasInVain } from '../auth/identity.js'
import { Program } from '../world/program.js'
import type { TableCounts } from '../world/tables.js'
import type { Stage } from './stage.js'
import { countTree } from './watching.js'

/** What a program of clients has. */
type Crew =
  | { readonly kind: 'client'; readonly client: Client }
  | { readonly kind: 'pool'; readonly pool: ClientPool }
  | { readonly kind: 'fleet'; readonly fleet: Clients }
  | { readonly kind: 'task' }

/** Whom a call is asked of, by its name in the history. */
export type Callee =
  | { readonly kind: 'client'; readonly name: string; readonly client: Client }
  | { readonly kind: 'pool'; readonly name: string; readonly pool: ClientPool }
  | { readonly kind: 'task'; readonly name: string; readonly options: StartClientOptions }

/** ms after which a program whose start failed tries again. */
const againAfter = 1_000

/** ms that undici gives a connection which is still being made when its client is closed, and a little more. */
const dialTime = 11_000

/** A machine with clients on it, in a program of its own. */
export class ClientHost {
  readonly plan: ClientPlan
  readonly #stage: Stage
  readonly #servers: ReadonlyMap<string, ServerPlan>
  #incarnation = 0
  isClosing = false
  #program: Program | undefined
  #crew: Crew | undefined
  #identity: OAuth | undefined
  #phase: string | undefined

  constructor(stage: Stage, plan: ClientPlan, servers: ReadonlyMap<string, ServerPlan>) {
    this.#stage = stage
    this.plan = plan
    stage.hosts.set(plan.name, this)
    this.#servers = servers
  }

  get program(): Program | undefined {
    return this.#program
  }

  get root(): ProcessRef | undefined {
    const crew = this.#crew
    if (crew === undefined || crew.kind === 'task') return undefined
    return crew.kind === 'client' ? crew.client.ref : crew.kind === 'pool' ? crew.pool.ref : crew.fleet.ref
  }

  /** Whether calls can be sent now. */
  get isReady(): boolean {
    const crew = this.#crew
    if (crew === undefined) return false
    if (crew.kind === 'client') return crew.client.state.phase === 'ready'
    if (crew.kind === 'pool') return crew.pool.members().every(({ status }) => status === 'ready')
    if (crew.kind === 'fleet')
      return [...crew.fleet.states().values()].every(({ phase }) => phase === 'ready')
    return true
  }

  /** Whom an act is asked of; undefined while nobody is there. */
  calleeOf({ id, server, timeout }: Act): Callee | undefined {
    const crew = this.#crew
    const { name } = this.plan
    const program = this.#program
    if (crew === undefined || program === undefined || program.phase === 'dead') return undefined
    if (crew.kind === 'client') return { ...crew, name }
    if (crew.kind === 'pool') return { ...crew, name }
    const there = server ?? this.plan.server
    if (crew.kind === 'fleet')
      return { kind: 'client', name: `${name} ${there}`, client: crew.fleet.get(there) }
    const options = { name, ...this.#options(this.#transport()), timeout, ...treeOf(program) }
    return { kind: 'task', name: `${name} ${id}`, options }
  }

  start(): void {
    if (this.#program !== undefined && this.#program.phase !== 'dead') return
    const { simulator, network, recorder } = this.#stage
    const { name, address } = this.plan
    this.#incarnation += 1
    const program = new Program(simulator, name, address, this.#incarnation)
    this.#program = program
    this.#phase = undefined
    network.light(address)
    recorder.add({ type: 'started', program: name })
    this.#identity = identityOf(this.#stage, this.plan, program)
    this.census('base')
    program.enter(() => void this.#begin(program))
  }

  async #begin(program: Program): Promise<void> {
    try {
      const crew = await this.#startCrew(program)
      if (program.phase === 'dead') return
      this.#crew = crew
      this.#noteTables('fresh', this.#stage.tables.first(program))
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'BAD_OPTION') throw error
      // nobody was there in time
      program.world.setTimeout(() => void this.#begin(program), againAfter)
    }
  }

  async #startCrew(program: Program): Promise<Crew> {
    const { kind, name, size } = this.plan
    const tree = treeOf(program)
    switch (kind) {
      case 'client': {
        const client = startClient({ name, ...tree, ...this.#options(this.#transport()) })
        this.#listen(program, client, name)
        client.onState(({ phase, reason }) => {
          this.#notePhase(program, name, phase, reason)
          if (phase === 'failed' && (someoneHelps(this.#stage.plan, this.plan) || wasInVain(reason)))
            program.world.setTimeout(() => void client.reconnect().catch(() => {}), helpTime)
        })
        return { kind, client }
      }
      case 'pool': {
        const { transport, ...client } = this.#options(this.#transport())
        const pool = await startClientPool({ name, ...tree, transport, size: size ?? 2, client })
        this.#notePhase(program, name, 'ready')
        pool.onEvent(() => this.#notePool(program, pool))
        return { kind, pool }
      }
      case 'fleet': {
        const { transport, ...client } = this.#options(this.#transport())
        const names = this.plan.servers ?? []
        const entries = Object.fromEntries(names.map((server) => [server, { url: this.#url(server) }]))
        const fleet = await startClients({ mcpServers: entries }, { name, ...tree, client })
        for (const server of names) this.#listen(program, fleet.get(server), `${name} ${server}`)
        fleet.onState((server, { phase, reason }) =>
          this.#notePhase(program, `${name} ${server}`, phase, reason),
        )
        return { kind, fleet }
      }
      case 'task':
        return { kind }
    }
  }

  #url(name: string): string {
    const server = this.#servers.get(name)
    if (server === undefined) throw new Error(`the plan has no server ${name}`)
    return `http://${server.address}:${server.port}/mcp`
  }

  #transport(): ClientTransport {
    const { server, connections } = this.plan
    const auth = this.#identity
    return http(this.#url(server), {
      ...(connections !== undefined && { limits: { connections } }),
      ...(auth !== undefined && { auth }),
    })
  }

  #options(transport: ClientTransport): ClientOptions {
    const { name, era, health, retry, budget, maxInFlight } = this.plan
    return {
      transport,
      era,
      timeout: 30_000,
      handshakeTimeout: 10_000,
      onElicit: () => ({ action: 'accept', content: { word: name } }),
      onSample: ({ messages }) => {
        const [content] = [messages[0]?.content].flat()
        const text = content?.type === 'text' ? `${name} ${content.text}` : name
        return { role: 'assistant', content: { type: 'text', text }, model: 'simulated' }
      },
      roots: () => [{ uri: `file:///${name}` }],
      ...(health && { health: { every: 5_000, misses: 3 } }),
      ...(retry !== undefined && { retry }),
      ...(budget !== undefined && { retryBudget: { perMinute: budget } }),
      ...(maxInFlight !== undefined && { maxInFlight }),
    }
  }

  /** Takes down what a client is told besides answers. */
  #listen(program: Program, client: Client, name: string): void {
    const { recorder } = this.#stage
    const note = (event: Unstamped): void => {
      if (program.phase !== 'dead') recorder.add(event)
    }
    const told = { type: 'received', program: this.plan.name, client: name } as const
    client.onNotification('notifications/message', ({ data }) =>
      note({ ...told, kind: 'log', payload: String(data), broadcast: false }),
    )
    client.onNotification('notifications/resources/updated', ({ uri }) =>
      note({ ...told, kind: 'updated', payload: uri, broadcast: true }),
    )
    client.onNotification('notifications/tools/list_changed', () =>
      note({ ...told, kind: 'listChanged', payload: 'tools', broadcast: true }),
    )
  }

  /** A timer that many share may tell a client of a program that has died. */
  #notePhase(program: Program, client: string, phase: string, reason?: Error): void {
    if (program.phase === 'dead') return
    const code = (reason as { readonly code?: unknown } | undefined)?.code
    this.#stage.recorder.add({
      type: 'phase',
      program: this.plan.name,
      client,
      phase,
      ...(code !== undefined && { code: String(code) }),
    })
  }

  /** A pool is ready when all of its members are. */
  #notePool(program: Program, pool: ClientPool): void {
    const isReady = pool.members().every(({ status }) => status === 'ready' || status === 'checked_out')
    const phase = isReady ? 'ready' : 'connecting'
    if (phase !== this.#phase) this.#notePhase(program, this.plan.name, phase)
    this.#phase = phase
  }

  /** Counts what the program holds. */
  census(when: Census['when']): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder } = this.#stage
    const crew = this.#crew
    // a member may be ready without an event that says so
    if (when === 'calm' && crew?.kind === 'pool') this.#notePool(program, crew.pool)
    const clients =
      crew?.kind === 'client' ? [crew.client] : crew?.kind === 'fleet' ? this.#all(crew.fleet) : []
    const loads = clients.map((client) => client.inspect())
    recorder.add({
      type: 'census',
      program: this.plan.name,
      when,
      counts: {
        timers: program.timers,
        sockets: network.socketsOf(program),
        waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
        inFlight: loads.reduce((sum, { inFlight }) => sum + inFlight, 0),
        ...countTree(this.root),
      },
    })
  }

  #noteTables(when: 'fresh' | 'rest', counts: TableCounts): void {
    this.#stage.recorder.add({ type: 'tables', program: this.plan.name, when, counts })
  }

  /** Takes down what is left in the maps of the program. */
  rest(counts: TableCounts): void {
    if (this.#crew !== undefined && this.#program?.phase === 'running') this.#noteTables('rest', counts)
  }

  #all(fleet: Clients): Client[] {
    return fleet.names.map((name) => fleet.get(name))
  }

  kill(isSilent: boolean): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder } = this.#stage
    network.lose(program, isSilent)
    program.die()
    this.#stage.tables.forget(program)
    this.#crew = undefined
    recorder.add({ type: 'died', program: this.plan.name })
  }

  async close(): Promise<void> {
    const crew = this.#crew
    this.isClosing = true
    await this.#program?.enter(async () => {
      if (crew?.kind === 'client') await crew.client.close()
      if (crew?.kind === 'pool') await crew.pool.close()
      if (crew?.kind === 'fleet') await crew.fleet.close()
      await this.#identity?.close()
    })
    const { simulator } = this.#stage
    await new Promise<void>((resolve) => {
      simulator.after(dialTime, simulator.elsewhere, `${this.plan.name} is closed`, resolve)
    })
    this.census('end')
  }
}

function treeOf({ world }: Program): Pick<StartClientOptions, 'clock' | 'logger' | 'onBlocked'> {
  return { clock: world, logger: false, onBlocked: 'ignore' }
}

import { serveHttp, type Server, startServer } from '../../../index.js'
import { allRevisions } from '../../../protocol/index.js'
import type { ServerPlan } from '../plan/plan.js'
import { Program } from '../world/program.js'
import { simulatedServer } from './definition.js'
import type { Stage } from './stage.js'

/** ms that an orderly stop may take before it is ended. */
const stopTime = 60_000

/** A machine with a server on it, which is started again after each end, as by a service manager. */
export class ServerHost {
  readonly plan: ServerPlan
  readonly #stage: Stage
  #incarnation = 0
  #program: Program | undefined
  #server: Server | undefined

  constructor(stage: Stage, plan: ServerPlan) {
    this.#stage = stage
    this.plan = plan
  }

  get program(): Program | undefined {
    return this.#program
  }

  get server(): Server | undefined {
    return this.#server
  }

  get isUp(): boolean {
    return this.#server !== undefined && this.#program?.phase === 'running'
  }

  start(): void {
    const { simulator, network, recorder, disk, plan, broken } = this.#stage
    const { name, address, port } = this.plan
    this.#incarnation += 1
    const program = new Program(simulator, name, address, this.#incarnation)
    this.#program = program
    network.light(address)
    recorder.add({ type: 'started', program: name })
    const changed = async (uri: string): Promise<void> => this.#server?.resourceUpdated(uri)
    const store = disk.storeOf(program, (record) => {
      const elements = (record.state.list ?? []) as string[]
      recorder.add({ type: 'saved', program: name, session: record.id, elements })
    })
    const begin = (): Promise<Server> =>
      startServer(simulatedServer({ name, program, recorder, changed }), {
        name,
        transport: serveHttp({ host: address, port }),
        clock: program.world,
        logger: false,
        signals: false,
        onBlocked: 'ignore',
        drainTimeout: 5_000,
        revisions: allRevisions,
        ...(plan.store === 'durable' && { store }),
      })
    program.enter(begin).then(
      (server) => {
        if (program.phase !== 'dead') this.#server = server
      },
      (error: unknown) => broken(`${name} does not start`, error),
    )
  }

  /** kill -9, or the plug is pulled. */
  kill(isSilent: boolean): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder } = this.#stage
    network.lose(program, isSilent)
    program.die()
    this.#server = undefined
    recorder.add({ type: 'died', program: this.plan.name })
  }

  /** Stops in order; is killed when that takes too long. */
  async stop(): Promise<void> {
    const server = this.#server
    const program = this.#program
    if (server === undefined || program === undefined) return
    const late = this.#stage.simulator.after(
      stopTime,
      this.#stage.simulator.elsewhere,
      'stops too late',
      () => {
        this.#stage.broken(`${this.plan.name} does not stop within ${stopTime} ms`)
        this.kill(false)
      },
    )
    await program.enter(() => server.stop())
    late.cancelled = true
    if (this.#server !== server) return
    this.#server = undefined
    this.#stage.network.lose(program, false)
    program.die()
    this.#stage.recorder.add({ type: 'died', program: this.plan.name })
  }
}

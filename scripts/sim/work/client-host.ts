import { type Client, http, startClient } from '../../../index.js'
import type { ClientPlan, ServerPlan } from '../plan/plan.js'
import { Program } from '../world/program.js'
import type { Stage } from './stage.js'

/** A machine with a client on it, in a program of its own. */
export class ClientHost {
  readonly plan: ClientPlan
  readonly #stage: Stage
  readonly #server: ServerPlan
  #incarnation = 0
  #program: Program | undefined
  #client: Client | undefined

  constructor(stage: Stage, plan: ClientPlan, server: ServerPlan) {
    this.#stage = stage
    this.plan = plan
    this.#server = server
  }

  get program(): Program | undefined {
    return this.#program
  }

  get client(): Client | undefined {
    return this.#client
  }

  start(): void {
    const { simulator, network, recorder } = this.#stage
    const { name, address, era, health } = this.plan
    this.#incarnation += 1
    const program = new Program(simulator, name, address, this.#incarnation)
    this.#program = program
    network.light(address)
    recorder.add({ type: 'started', program: name })
    const client = program.enter(() =>
      startClient({
        name,
        transport: http(`http://${this.#server.address}:${this.#server.port}/mcp`),
        clock: program.world,
        logger: false,
        onBlocked: 'ignore',
        era,
        timeout: 30_000,
        handshakeTimeout: 10_000,
        onElicit: () => ({ action: 'accept', content: { word: name } }),
        ...(health && { health: { every: 5_000, misses: 3 } }),
      }),
    )
    this.#client = client
    program.enter(() =>
      client.onState(({ phase, reason }) => {
        const code = (reason as { readonly code?: unknown } | undefined)?.code
        recorder.add({
          type: 'phase',
          program: name,
          client: name,
          phase,
          ...(code !== undefined && { code: String(code) }),
        })
      }),
    )
  }

  kill(isSilent: boolean): void {
    const program = this.#program
    if (program === undefined || program.phase === 'dead') return
    const { network, recorder } = this.#stage
    network.lose(program, isSilent)
    program.die()
    this.#client = undefined
    recorder.add({ type: 'died', program: this.plan.name })
  }

  async close(): Promise<void> {
    const client = this.#client
    await this.#program?.enter(() => client?.close())
  }
}

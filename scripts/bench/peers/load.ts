import { type ContenderName, type Entrant, type Figures, within } from './measure.js'
import type { ServerProcess } from './server-process.js'

/** A server with the ways to load it: each lane makes one request and checks its answer. */
export interface Load {
  readonly server: ServerProcess
  readonly lanes: readonly (() => Promise<void>)[]
}

/** How long requests are made: `ms`, then on until there are `least`, but no longer than `most` ms. */
interface Stretch {
  readonly ms: number
  readonly least: number
  readonly most: number
}

/** Ten of the first and eight of the second for each contender, in turn, so that noise comes over all of them. */
const warmUp: Stretch = { ms: 150, least: 400, most: 500 }
const measured: Stretch = { ms: 150, least: 100, most: 500 }
const warmUps = 10
const stretches = 8
/** Milliseconds for a server to start, and for the last requests of a stretch. */
const patience = 10_000

/** Loads the contenders in turn: microseconds of CPU that a request costs each server. */
export async function cpuPerRequest(
  entrants: readonly Entrant[],
  open: (module: string) => Promise<Load>,
): Promise<Figures> {
  const opening = entrants.map(async ({ name, module }) => new Run(name, await open(module)))
  const opened = await Promise.allSettled(opening)
  opened.forEach((result, index) => {
    if (result.status === 'rejected') complain(entrants[index]?.name, result.reason)
  })
  const runs = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  for (let i = 0; i < warmUps; i++) for (const run of runs) await run.drive(warmUp)
  for (const run of runs) run.forget()
  for (let i = 0; i < stretches; i++) for (const run of runs) await run.drive(measured)
  await Promise.all(runs.map((run) => run.end()))
  return Object.fromEntries(
    runs.flatMap(({ name, figure }) => (figure === undefined ? [] : [[name, figure]])),
  )
}

/** One contender under load; what goes wrong with it takes it out of the race and nobody else. */
class Run {
  readonly name: ContenderName
  readonly #load: Load
  #failed = false
  #micros = 0
  #count = 0

  constructor(name: ContenderName, load: Load) {
    this.name = name
    this.#load = load
  }

  /** Microseconds per request, of all that is not forgotten. */
  get figure(): number | undefined {
    return this.#failed ? undefined : this.#micros / this.#count
  }

  async drive(stretch: Stretch): Promise<void> {
    if (this.#failed) return
    const { server, lanes } = this.#load
    try {
      const before = await server.cpuMicros()
      const driven = Promise.race([drive(lanes, stretch), server.diesEarly()])
      this.#count += await within(driven, patience, 'an answer')
      this.#micros += (await server.cpuMicros()) - before
    } catch (error) {
      this.#failed = true
      complain(this.name, error)
      await server.end()
    }
  }

  forget(): void {
    this.#micros = 0
    this.#count = 0
  }

  end(): Promise<void> {
    return this.#load.server.end()
  }
}

/** Makes requests in all lanes at once, one after the other in each; resolves with how many. */
async function drive(lanes: Load['lanes'], { ms, least, most }: Stretch): Promise<number> {
  const start = performance.now()
  let count = 0
  const follow = async (request: () => Promise<void>): Promise<void> => {
    for (;;) {
      const passed = performance.now() - start
      if (passed >= most || (passed >= ms && count >= least)) return
      await request()
      count += 1
    }
  }
  await Promise.all(lanes.map(follow))
  return count
}

/** Says on standard error why a contender has no figure. */
export function complain(name: ContenderName | undefined, error: unknown): void {
  console.error(`${name}: did not finish: ${error instanceof Error ? error.message : error}`)
}

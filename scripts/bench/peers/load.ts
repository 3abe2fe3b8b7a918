import type { Stretch } from './drive.js'
import { type ContenderName, type Entrant, type Figures, within } from './measure.js'
import type { MeasuredProcess } from './measured-process.js'

/** A process whose CPU counts, and how to keep it busy for a while: `drive` resolves with the number of requests, each of them answered and checked. */
export interface Load {
  readonly measured: MeasuredProcess
  drive(stretch: Stretch): Promise<number>
}

/** Ten of the first and eight of the second for each contender, in turn, so that noise comes over all of them. */
const warmUp: Stretch = { ms: 150, least: 400, most: 500 }
const measured: Stretch = { ms: 150, least: 100, most: 500 }
const warmUps = 10
const stretches = 8
/** Milliseconds for the last requests of a stretch. */
const patience = 10_000

/**
 * Loads the contenders in turn: microseconds of CPU that a request costs the measured process of each, by
 * stretch.
 */
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
    runs.flatMap(({ name, figures }) => (figures === undefined ? [] : [[name, figures]])),
  )
}

/** One contender under load; what goes wrong with it takes it out of the race and nobody else. */
class Run {
  readonly name: ContenderName
  readonly #load: Load
  #failed = false
  #figures: number[] = []

  constructor(name: ContenderName, load: Load) {
    this.name = name
    this.#load = load
  }

  /** Microseconds per request in each stretch that is not forgotten. */
  get figures(): readonly number[] | undefined {
    return this.#failed ? undefined : this.#figures
  }

  async drive(stretch: Stretch): Promise<void> {
    if (this.#failed) return
    const { measured } = this.#load
    try {
      const before = await measured.cpuMicros()
      const driven = Promise.race([this.#load.drive(stretch), measured.diesEarly()])
      const count = await within(driven, patience, 'an answer')
      this.#figures.push(((await measured.cpuMicros()) - before) / count)
    } catch (error) {
      this.#failed = true
      complain(this.name, error)
      await measured.end()
    }
  }

  forget(): void {
    this.#figures = []
  }

  end(): Promise<void> {
    return this.#load.measured.end()
  }
}

/** Says on standard error why a contender has no figure. */
export function complain(name: ContenderName | undefined, error: unknown): void {
  console.error(`${name}: did not finish: ${error instanceof Error ? error.message : error}`)
}

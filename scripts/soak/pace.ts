import { readFileSync } from 'node:fs'

/** Time as this run has it. */
export interface Pace {
  /**
   * Milliseconds since the run began, without those that the machine had no time for us: a loop that is late,
   * and programs of the run that wait for a processor, let it pass more slowly. On a machine that is ours
   * alone it is the time of day.
   */
  now(): number
  /** The share of the time that programs of the run had a processor when they wanted one: least and average. */
  speeds(): { readonly mean: number; readonly least: number }
  stop(): void
}

const tickMs = 50
const measureMs = 250
/** Time passes at least this fast: what takes ten times as long as it should is no fault of the machine any more. */
const slowest = 0.1

/** Nanoseconds that a program had a processor, and that it waited for one. */
interface Shares {
  readonly ran: number
  readonly waited: number
}

/**
 * Measures the pace by this process's own loop, and by how long its programs wait for a processor, where the
 * system tells (Linux).
 */
export function startPace(programs: () => Iterable<number>): Pace {
  const meter = new PaceMeter(performance.now())
  let before = sharesOf(programs())
  const ticks = setInterval(() => meter.tick(performance.now(), tickMs), tickMs)
  const measures = setInterval(() => {
    const after = sharesOf(programs())
    meter.measured(speedOf(before, after), performance.now(), tickMs)
    before = after
  }, measureMs)
  return {
    now: () => meter.at(performance.now(), tickMs),
    speeds: () => meter.speeds(),
    stop() {
      clearInterval(ticks)
      clearInterval(measures)
    },
  }
}

/** The share of the time they wanted that these programs had; whoever is new, or has gone, is not counted. */
export function speedOf(before: ReadonlyMap<number, Shares>, after: ReadonlyMap<number, Shares>): number {
  let ran = 0
  let waited = 0
  for (const [pid, shares] of after) {
    const last = before.get(pid)
    if (last === undefined) continue
    ran += shares.ran - last.ran
    waited += shares.waited - last.waited
  }
  return ran + waited === 0 ? 1 : ran / (ran + waited)
}

function sharesOf(programs: Iterable<number>): Map<number, Shares> {
  const shares = new Map<number, Shares>()
  for (const pid of programs) {
    const [ran, waited] = readShares(pid)
    if (ran !== undefined && waited !== undefined) shares.set(pid, { ran, waited })
  }
  return shares
}

/** Of its main thread; nothing where the system does not tell, or the program has ended. */
function readShares(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return []
    throw error
  }
}

/** Adds the pace up. Knows no clock: times are given. */
export class PaceMeter {
  #passed = 0
  #last: number
  #speed = 1
  #count = 0
  #sum = 0
  #least = 1

  constructor(now: number) {
    this.#last = now
  }

  /**
   * What programs of the run got of the time they wanted, from 0 to 1. What has passed by now stays: time
   * never goes back.
   */
  measured(speed: number, now: number, due: number): void {
    this.tick(now, due)
    this.#speed = Math.max(slowest, speed)
    this.#count += 1
    this.#sum += speed
    this.#least = Math.min(this.#least, speed)
  }

  /** The loop has come round, which it should after `due` ms. */
  tick(now: number, due: number): void {
    this.#passed = this.at(now, due)
    this.#last = now
  }

  at(now: number, due: number): number {
    return this.#passed + Math.min(now - this.#last, due) * this.#speed
  }

  speeds(): { mean: number; least: number } {
    return { mean: this.#count === 0 ? 1 : this.#sum / this.#count, least: this.#least }
  }
}

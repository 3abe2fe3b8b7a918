import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Time as this run has it. */
export interface Pace {
  /**
   * Milliseconds since the run began, without those that the machine had no time for us: a loop that is late, and work that takes longer because
   * others work, too, let it pass more slowly. On a machine that is ours alone it is the time of day.
   */
  now(): number
  /** The share of the time that programs like ours got: all of it, its least and its average. */
  speeds(): { readonly mean: number; readonly least: number }
  stop(): Promise<void>
}

const tickMs = 50
/** Time passes at least this fast: what takes ten times as long as it should is no fault of the machine any more. */
const slowest = 0.1

/** Measures the pace by this process's own loop, and by a witness that works in a process of its own. */
export async function startPace(program: string): Promise<Pace> {
  const witness = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const meter = new PaceMeter(performance.now())
  witness.on('message', (speed: number) => meter.witnessed(speed, performance.now(), tickMs))
  await once(witness, 'message')
  const timer = setInterval(() => meter.tick(performance.now(), tickMs), tickMs)
  return {
    now: () => meter.at(performance.now(), tickMs),
    speeds: () => meter.speeds(),
    async stop() {
      clearInterval(timer)
      const ended = once(witness, 'exit')
      witness.disconnect()
      await ended
    },
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

  /** What the witness got of the time it wanted, from 0 to 1; what has passed until now is not measured anew: time never goes back. */
  witnessed(speed: number, now: number, due: number): void {
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

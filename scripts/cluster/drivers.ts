import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DriverCommand, DriverNews, DriverOrder } from './driver-words.js'
import type { Place } from './plan.js'

const program = fileURLToPath(new URL('./driver.js', import.meta.url))
/** Milliseconds that they may take to begin, and to end, on a machine with a lot to do. */
const patience = 180_000

/** Programs that have the clients of a run in them. */
export class Drivers {
  readonly #children: readonly ChildProcess[]
  readonly #said = new Map<ChildProcess, Extract<DriverNews, { type: 'calls' }>>()

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children
    for (const child of children)
      child.on('message', (news: DriverNews) => {
        if (news.type === 'calls') this.#said.set(child, news)
      })
  }

  /** Resolves when all clients are ready. */
  static async start(
    count: number,
    places: readonly Place[],
    order: Omit<DriverOrder, 'places'>,
  ): Promise<Drivers> {
    const children = Array.from({ length: count }, (_, i) => {
      const own: DriverOrder = {
        ...order,
        folder: join(order.folder, `driver-${i}`),
        seed: (order.seed + 1 + i) % 2 ** 32,
        places: places.filter((_place, at) => Math.floor(at / 5) % count === i),
      }
      return spawn(process.execPath, [program, JSON.stringify(own)], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
    })
    const drivers = new Drivers(children)
    try {
      await Promise.all(children.map((child) => heard(child, 'ready')))
      return drivers
    } catch (error) {
      await drivers.kill()
      throw error
    }
  }

  get pids(): readonly number[] {
    return this.#children.flatMap(({ pid }) => pid ?? [])
  }

  get calls(): number {
    return [...this.#said.values()].reduce((sum, { calls }) => sum + calls, 0)
  }

  get codes(): ReadonlyMap<string, number> {
    const sum = new Map<string, number>()
    for (const { codes } of this.#said.values())
      for (const [code, count] of Object.entries(codes)) sum.set(code, (sum.get(code) ?? 0) + count)
    return sum
  }

  begin(): void {
    this.#tell('begin')
  }

  /** Nothing breaks any more: what is wrong all the same. */
  async finish(): Promise<string[]> {
    const finished = this.#children.map((child) => heard(child, 'finished'))
    this.#tell('finish')
    return (await Promise.all(finished)).flatMap(({ wrong }) => wrong)
  }

  async close(): Promise<void> {
    const ended = this.#children.map(exit)
    this.#tell('close')
    await Promise.all(ended)
  }

  async kill(): Promise<void> {
    const ended = this.#children.map(exit)
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all(ended)
  }

  #tell(command: DriverCommand): void {
    for (const child of this.#children) if (child.connected) child.send(command)
  }
}

async function exit(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(() => child.kill('SIGKILL'), patience)
  await once(child, 'exit')
  clearTimeout(timer)
}

function heard<Type extends DriverNews['type']>(
  child: ChildProcess,
  type: Type,
): Promise<Extract<DriverNews, { type: Type }>> {
  return new Promise((resolve, reject) => {
    const hear = (news: DriverNews): void => {
      if (news.type === type) end(() => resolve(news as Extract<DriverNews, { type: Type }>))
    }
    const gone = (code: number | null): void => end(() => reject(new Error(`a driver ended with ${code}`)))
    const timer = setTimeout(() => end(() => reject(new Error(`a driver was not ${type} in time`))), patience)
    // not one after the other: two that come at once would be one
    child.on('message', hear)
    child.on('exit', gone)

    function end(settle: () => void): void {
      clearTimeout(timer)
      child.off('message', hear)
      child.off('exit', gone)
      settle()
    }
  })
}

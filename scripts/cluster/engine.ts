import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis, type TestRedis } from '../../test/support/redis.js'
import { TcpProxy } from '../../test/support/tcp-proxy.js'

/** Milliseconds of writes that a fail-over loses. */
const lostByFailOver = 1_000
/** Milliseconds that a replica may take to have all there is. */
const patience = 30_000

/** The undo of what was started, as `t.after` of a test. */
export interface Undo {
  after(undo: () => unknown): void
}

/** A Redis with a replica, and a way of its own to it for each node. */
export class EngineHost {
  readonly ways: readonly TcpProxy[]
  readonly #undo: Undo
  #primary: TestRedis
  #standby: Standby

  private constructor(undo: Undo, primary: TestRedis, standby: Standby, ways: readonly TcpProxy[]) {
    this.#undo = undo
    this.#primary = primary
    this.#standby = standby
    this.ways = ways
  }

  static async start(undo: Undo, nodes: number): Promise<EngineHost> {
    const primary = await startRedis(undo, { appendonly: true, args: quickSync })
    const ways: TcpProxy[] = []
    for (let i = 0; i < nodes; i++) {
      const way = await TcpProxy.start(primary.port)
      undo.after(() => way.close())
      ways.push(way)
    }
    return new EngineHost(undo, primary, await follow(undo, primary), ways)
  }

  /** Where a node finds it. */
  url(node: number): string {
    return `redis://127.0.0.1:${this.ways[node]?.port}`
  }

  freeze(): void {
    this.#primary.freeze()
  }

  thaw(): void {
    this.#primary.thaw()
  }

  /** Ends as nothing can prevent. */
  kill(): Promise<void> {
    return this.#primary.kill()
  }

  /** Comes back, with what it had or without. */
  start(how: { readonly wiped: boolean }): Promise<void> {
    return this.#primary.start(how)
  }

  /** The primary is gone, and the replica takes its place: without what was written in the last second. */
  async failOver(): Promise<void> {
    const { redis, link } = this.#standby
    await inStep(redis)
    link.hold()
    await sleep(lostByFailOver)
    await this.#primary.kill()
    redis.promote()
    this.#primary = redis
    for (const way of this.ways) {
      way.aim(redis.port)
      way.reset()
    }
    this.#standby = await follow(this.#undo, redis)
  }

  /** What it holds, in keys and bytes. */
  size(): { readonly keys: number; readonly bytes: number } {
    const keys = Number(this.#primary.cli('dbsize')[0])
    const used = this.#primary.cli('info', 'memory').find((line) => line.startsWith('used_memory_dataset:'))
    return { keys, bytes: Number(used?.split(':')[1]) }
  }
}

/** A replica, and the way by which it hears of what is written. */
interface Standby {
  readonly redis: TestRedis
  readonly link: TcpProxy
}

/** A replica need not wait for others. */
const quickSync = ['--repl-diskless-sync-delay', '0']

async function follow(undo: Undo, primary: TestRedis): Promise<Standby> {
  const link = await TcpProxy.start(primary.port)
  undo.after(() => link.close())
  const redis = await startRedis(undo, { appendonly: true, replicaOf: link.port, args: quickSync })
  await inStep(redis)
  return { redis, link }
}

async function inStep(replica: TestRedis): Promise<void> {
  const deadline = performance.now() + patience
  while (!replica.cli('info', 'replication').some((line) => line.startsWith('master_link_status:up'))) {
    if (performance.now() > deadline) throw new Error('the replica does not follow')
    await sleep(50)
  }
}

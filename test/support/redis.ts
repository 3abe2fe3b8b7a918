import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.js'
import type { Suite, TestContext, TestOptions } from './suite.js'

/** How a Redis of a test is started. */
export interface RedisSettings {
  /** Keeps what was written over a restart, also one by SIGKILL. */
  readonly appendonly?: boolean
  /** The port on loopback of the primary that this one follows. */
  readonly replicaOf?: number
  /** The password of the user `default`. */
  readonly password?: string
  /** More arguments of `redis-server`. */
  readonly args?: readonly string[]
}

/** A `redis-server` of a test: it and its folder are gone when the test has ended. */
export interface TestRedis {
  readonly port: number
  /** redis://127.0.0.1:PORT, without a password. */
  readonly url: string
  readonly pid: number
  /** Ends in order (SIGTERM). */
  stop(): Promise<void>
  /** Ends at once (SIGKILL). */
  kill(): Promise<void>
  /** Starts again at the same port; `wiped` without what was kept. */
  start(how?: { readonly wiped?: boolean }): Promise<void>
  /** Follows no primary any more, also when it starts again. */
  promote(): void
  /** Connections stay, nothing is answered (SIGSTOP). */
  freeze(): void
  thaw(): void
  /** What `redis-cli` answers, as lines; it does not work while the server is away or frozen. */
  cli(...args: readonly string[]): string[]
}

/** Why tests with Redis are left out here; undefined: they are run. */
export const noRedis: string | undefined =
  spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'redis-server is not installed'

/** Starts a `redis-server` on a free port of loopback, and waits until it answers. */
export async function startRedis(
  t: Pick<TestContext, 'after'>,
  settings: RedisSettings = {},
): Promise<TestRedis> {
  const redis = new Server(await lowPort(), settings)
  t.after(() => redis.end())
  await redis.start()
  return redis
}

/** In Redis Cluster a server has another port, 10,000 above: that, too, is below those of outgoing connections. */
async function lowPort(): Promise<number> {
  const port = await freePort()
  return port < 20_000 ? port : lowPort()
}

/** Defines a test that needs Redis: left out with a word where it is not installed. */
export function redisTest(
  test: Suite,
  promise: string,
  body: (t: TestContext) => unknown,
  options?: TestOptions,
): void {
  if (noRedis === undefined) test(promise, body, options)
  else test.skip(promise, noRedis)
}

/** Milliseconds that a server has to begin, and to end. */
const patience = 15_000

class Server implements TestRedis {
  readonly port: number
  readonly #settings: RedisSettings
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'caduceus-redis-'))
  #replicaOf: number | undefined
  #child: ChildProcess | undefined

  constructor(port: number, settings: RedisSettings) {
    this.port = port
    this.#settings = settings
    this.#replicaOf = settings.replicaOf
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async start({ wiped = false } = {}): Promise<void> {
    const { appendonly = false, password, args = [] } = this.#settings
    const replicaOf = this.#replicaOf
    // a folder since Redis 7, a file before
    for (const kept of wiped ? ['appendonlydir', 'appendonly.aof'] : [])
      rmSync(join(this.#folder, kept), { recursive: true, force: true })
    const child = spawn(
      'redis-server',
      [
        ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder, '--save', ''],
        ...['--appendonly', appendonly ? 'yes' : 'no', '--appendfsync', 'no'],
        ...(replicaOf === undefined ? [] : ['--replicaof', `127.0.0.1 ${replicaOf}`]),
        ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password]),
        ...args,
      ],
      { stdio: 'ignore' },
    )
    this.#child = child
    const deadline = Date.now() + patience
    while (!(await answers(this.port, password))) {
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`)
      if (Date.now() > deadline) throw new Error(`redis-server did not answer within ${patience} ms`)
      await sleep(10)
    }
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  promote(): void {
    this.cli('REPLICAOF', 'NO', 'ONE')
    this.#replicaOf = undefined
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }

  cli(...args: readonly string[]): string[] {
    const { password } = this.#settings
    const { stdout, status, stderr } = spawnSync(
      'redis-cli',
      [
        '-p',
        String(this.port),
        ...(password === undefined ? [] : ['--no-auth-warning', '-a', password]),
        ...args,
      ],
      { encoding: 'utf8', timeout: patience },
    )
    if (status !== 0) throw new Error(`redis-cli ${args.join(' ')}: ${stderr || stdout}`)
    return stdout.split('\n').filter((line) => line !== '')
  }

  async end(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    if (signal !== 'SIGKILL') child.kill('SIGCONT')
    await ended
  }
}

/** Whether a command is answered there, other than that data is still being loaded. */
function answers(port: number, password: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const done = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.setTimeout(1_000, () => done(false))
    socket.on('error', () => done(false))
    socket.on('close', () => done(false))
    let heard = ''
    socket.on('data', (data) => {
      heard += data.toString()
      if (/\+PONG|^-/m.test(heard)) done(heard.includes('+PONG'))
    })
    if (password !== undefined) socket.write(`AUTH ${password}\r\n`)
    socket.write('PING\r\n')
  })
}

import { AsyncResource } from 'node:async_hooks'
import { lazy } from '../../runtime/faults/load.js'
import type { World } from '../../runtime/time/world.js'
import { optionError, type TransportError } from '../base/errors.js'
import { type Call, RedisLine, type Value } from './line.js'
import type { RedisSettings } from './options.js'
import type { RedisScript } from './script.js'

interface ConnectOptions {
  readonly world: World
  /** Has the connection end with the scope that it is opened in: `ctx.own`. */
  readonly own: (release: () => void) => void
  /** Channels to subscribe to, on a connection of their own. Default none. */
  readonly channels?: readonly string[]
  /** Scripts that commands will run. */
  readonly scripts?: readonly RedisScript[]
  /** Milliseconds that a command may take before the connection is taken for lost. Default 1,000. */
  readonly commandTimeout?: number
}

/** A program without Redis never loads it. */
// bundlers fail for a package that is not there, but where a rejection is handled
const loadLibrary = /* @__PURE__ */ lazy('ioredis', () =>
  import('ioredis').catch((error) => Promise.reject(error)),
)

/** ms that the first connection may take: below the 5 s that an actor has to begin. */
const openTimeout = 4_500
/** ms between two looks whether the channels can still be heard. */
const pulse = 500

/**
 * Connects. Rejects with TransportError CLUSTER_UNAVAILABLE when the server cannot be reached within 5 s, and
 * with BAD_OPTION when it is too old or refuses us, or `ioredis` is not installed.
 */
export async function openRedis(settings: RedisSettings, options: ConnectOptions): Promise<RedisConnection> {
  const { Redis } = await loadLibrary().catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw optionError(
      'url',
      'the package ioredis (>= 5.4, < 7) is needed for Redis: npm install ioredis',
      cause,
    )
  })
  const connection = new RedisConnection(Redis, settings, options)
  let owned: RedisConnection | undefined = connection
  options.own(() => owned?.close())
  try {
    await connection.opened()
  } catch (error) {
    // who tries again and again collects nothing
    owned = undefined
    throw error
  }
  return connection
}

/**
 * Two connections that are there together, or not at all: one for commands, and one for channels if there are
 * any. Every command rejects with CLUSTER_UNAVAILABLE after `commandTimeout`, and at once while the server is
 * known to be away. It may have been done then; it will not be done once the connection is back.
 */
export class RedisConnection {
  readonly name: string
  readonly #world: World
  readonly #lines: readonly RedisLine[]
  readonly #commands: RedisLine
  readonly #channels: RedisLine | undefined
  /** By line: which run of which server it is connected to. */
  readonly #runs = new Map<RedisLine, string>()
  readonly #onHealth = new Set<(isUp: boolean) => void>()
  readonly #onMessage = new Set<(channel: string) => void>()
  readonly #onChange = new Set<() => void>()
  #pulse: unknown
  #isUp = false
  #isClosed = false
  /** The policy by which the server deletes keys when its memory is full; undefined: it deletes none. */
  evicts: string | undefined

  constructor(
    Library: ConstructorParameters<typeof RedisLine>[0],
    settings: RedisSettings,
    options: ConnectOptions,
  ) {
    const { world, channels = [], scripts = [], commandTimeout = 1_000 } = options
    this.name = settings.name
    this.#world = world
    const shared = {
      world,
      commandTimeout,
      changed: () => this.#turn(),
      heard: (channel: string) => {
        for (const fn of [...this.#onMessage]) fn(channel)
      },
    }
    const line = (then: (call: Call) => Promise<unknown>): RedisLine => {
      const ids = new Predecessors()
      const greet = async (call: Call): Promise<void> => {
        await this.#select(settings.database, call)
        const run = await this.#introduce(call, ids)
        await then(call)
        this.#gather(made, run)
      }
      const made: RedisLine = new RedisLine(Library, settings, { ...shared, greet })
      return made
    }
    this.#commands = line((call) => Promise.all(scripts.map(({ text }) => call('SCRIPT', 'LOAD', text))))
    this.#channels = channels.length === 0 ? undefined : line((call) => call('SUBSCRIBE', ...channels))
    this.#lines = this.#channels === undefined ? [this.#commands] : [this.#commands, this.#channels]
    this.#listen()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  /** Hears each change of `isUp`, until the returned function is called. */
  onHealth(fn: (isUp: boolean) => void): () => void {
    return listen(this.#onHealth, fn)
  }

  /** Hears what is told on the channels, until the returned function is called. */
  onMessage(fn: (channel: string) => void): () => void {
    return listen(this.#onMessage, fn)
  }

  command(name: string, ...args: readonly Value[]): Promise<unknown> {
    return this.#isUp ? this.#commands.ask(name, ...args) : Promise.reject(this.#problem())
  }

  run(script: RedisScript, keys: readonly string[], args: readonly Value[]): Promise<unknown> {
    return this.#isUp ? this.#commands.run(script, keys, args) : Promise.reject(this.#problem())
  }

  /** Resolves once it is up, within 5 s; what it rejects with has ended it. */
  async opened(): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        const refused = () => this.#lines.find(({ refusal }) => refusal !== undefined)?.refusal
        const done = (settle: () => void): void => {
          this.#world.clearTimeout(timer)
          this.#onChange.delete(look)
          settle()
        }
        const look = (): void => {
          if (this.#isUp) done(resolve)
          else if (refused() !== undefined) done(() => reject(refused()))
          else if (this.#isClosed) done(() => reject(this.#problem()))
        }
        const timer = this.#world.setTimeout(() => done(() => reject(this.#problem())), openTimeout)
        this.#onChange.add(look)
        look()
      })
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    this.#world.clearTimeout(this.#pulse)
    for (const line of this.#lines) line.close()
    this.#turn()
  }

  #turn(): void {
    const isUp = this.#lines.every((line) => line.isUp)
    if (isUp !== this.#isUp) {
      this.#isUp = isUp
      for (const fn of [...this.#onHealth]) fn(isUp)
    }
    for (const fn of [...this.#onChange]) fn()
  }

  #problem(): TransportError {
    return (this.#lines.find((line) => !line.isUp) ?? this.#commands).problem()
  }

  /** What comes on the channels is waited for in vain when they are cut: nothing else would tell. */
  #listen(): void {
    const channels = this.#channels
    if (channels === undefined || this.#isClosed) return
    this.#pulse = this.#world.setTimeout(() => {
      channels.ask('PING').catch(() => {})
      this.#listen()
    }, pulse)
  }

  /** The library would go on with database 0 when there is none such. */
  async #select(database: number, call: Call): Promise<void> {
    if (database === 0) return
    await call('SELECT', database).catch((error: Error) => {
      if (!/: ERR /.test(error.message)) throw error
      throw optionError('url', `${this.name}: there is no database ${database}: ${error.message}`, error)
    })
  }

  /** Answers the id of the server's run. */
  async #introduce(call: Call, ids: Predecessors): Promise<string> {
    const { version, run, role, isLoading, policy } = readInfo(String(await call('INFO')))
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 6 || (major === 6 && minor < 2))
      throw optionError('url', `${this.name} is version ${version}: 6.2 or later is needed`)
    if (isLoading) throw new Error('it is loading its data')
    if (role !== 'master') throw new Error(`it is a ${role}, and cannot be written to`)
    this.evicts = policy === '' || policy === 'noeviction' ? undefined : policy
    await ids.end(run, call)
    return run
  }

  /** After a fail-over that cut nothing, the other line may still be at the former server: it follows. */
  #gather(latest: RedisLine, run: string): void {
    this.#runs.set(latest, run)
    for (const [line, other] of this.#runs) if (other !== run) line.renew()
  }
}

/**
 * The connections before this one. What they had sent may still wait for a server that was frozen: it would be
 * done after what is sent now.
 */
class Predecessors {
  #last: { readonly id: unknown; readonly run: string } | undefined

  async end(run: string, call: Call): Promise<void> {
    const id = await allowed(call('CLIENT', 'ID'))
    // another server has numbers of its own
    if (this.#last?.run === run) await allowed(call('CLIENT', 'KILL', 'ID', Number(this.#last.id)))
    this.#last = id === undefined ? undefined : { id, run }
  }
}

/** Undefined where the server does not let this user do it. */
async function allowed(reply: Promise<unknown>): Promise<unknown> {
  return reply.catch((error: Error) => {
    if (!/: (?:NOPERM|ERR) /.test(error.message)) throw error
  })
}

function readInfo(text: string) {
  const read = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? ''
  return {
    version: read('redis_version'),
    run: read('run_id'),
    role: read('role'),
    isLoading: read('loading') === '1',
    policy: read('maxmemory_policy'),
  }
}

/** In the scope of who listens, as a scope's own emitters do it. */
function listen<Value>(listeners: Set<(value: Value) => void>, fn: (value: Value) => void): () => void {
  const bound = AsyncResource.bind(fn)
  listeners.add(bound)
  return () => void listeners.delete(bound)
}

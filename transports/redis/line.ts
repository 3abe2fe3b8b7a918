import { backoff, jittered } from '../../runtime/time/backoff.js'
import type { Redis, RedisOptions as LibraryOptions } from 'ioredis'
import type { World } from '../../runtime/time/world.js'
import { optionError, TransportError } from '../base/errors.js'
import type { RedisSettings } from './options.js'
import type { RedisScript } from './script.js'

export type Value = string | number
/** Does a command, also while the line is not up yet. */
export type Call = (name: string, ...args: readonly Value[]) => Promise<unknown>

interface LineOptions {
  readonly world: World
  /** Milliseconds that a command may take, while nothing is heard of the server. */
  readonly commandTimeout: number
  /** What is done first on each connection. A rejection ends it, and the next one is tried. */
  readonly greet: (call: Call) => Promise<void>
  /** Hears each change of `isUp`, and why a connection did not come about. */
  readonly changed: () => void
  readonly heard: (channel: string) => void
}

/** Minimum throughput assumed, in bytes per ms: extends timeouts of large commands. */
const slowest = 1_000
/** ms that a connection may take to come about. */
const greetTimeout = 2_000
/** ms until a connection is tried again. */
const pauses = { first: 50, longest: 500 }

interface Asked {
  readonly until: number
  readonly size: number
  readonly reject: (error: Error) => void
}

/**
 * One connection to Redis or Valkey, made again and again until it is closed. What is asked is sent at once or
 * rejected, and never sent again. With one command that is not answered in time it is taken for lost.
 */
export class RedisLine {
  readonly #settings: RedisSettings
  readonly #options: LineOptions
  readonly #redis: Redis
  readonly #pending = new Set<Asked>()
  /** Characters of all that is pending. */
  #size = 0
  /** When something came last: a long answer takes its time. */
  #heardAt = Number.NEGATIVE_INFINITY
  #deadline: unknown
  #greeting: unknown
  #again: unknown
  #failures = 0
  #connections = 0
  #isClosed = false
  #why: string | undefined
  #cause: Error | undefined
  #refusal: TransportError | undefined
  isUp = false

  constructor(Library: typeof Redis, settings: RedisSettings, options: LineOptions) {
    this.#settings = settings
    this.#options = options
    this.#redis = new Library(libraryOptions(settings, () => this.#pause()))
    this.#redis.on('connecting', () => this.#begin())
    this.#redis.on('ready', () => void this.#greet())
    this.#redis.on('error', (error: Error) => this.#note(error))
    this.#redis.on('close', () => this.#lose('the connection has ended'))
    this.#redis.on('end', () => this.#goOn())
    this.#redis.on('message', (channel: string) => this.#options.heard(channel))
    this.#connect()
  }

  ask(name: string, ...args: readonly Value[]): Promise<unknown> {
    return this.isUp ? this.#call(name, args) : Promise.reject(this.problem())
  }

  /** Also where the server has forgotten the script. */
  run({ sha, text }: RedisScript, keys: readonly string[], args: readonly Value[]): Promise<unknown> {
    if (!this.isUp) return Promise.reject(this.problem())
    const rest = [keys.length, ...keys, ...args]
    return this.#send(rest, () =>
      this.#redis.call('EVALSHA', [sha, ...rest]).catch((error: Error) => {
        if (!error.message.startsWith('NOSCRIPT')) throw error
        return this.#redis.call('EVAL', [text, ...rest])
      }),
    )
  }

  /** Disconnects for good. */
  close(): void {
    this.#isClosed = true
    this.#options.world.clearTimeout(this.#again)
    this.#redis.disconnect()
    this.#lose('it is closed')
  }

  /** Connects anew: the address leads elsewhere by now. */
  renew(): void {
    if (this.isUp) this.#lose('the address leads to another server by now')
  }

  /** Why trying again is of no use, as the server refuses us: BAD_OPTION. */
  get refusal(): TransportError | undefined {
    return this.#refusal
  }

  /** Why nothing can be asked at the moment. */
  problem(): TransportError {
    const { name } = this.#settings
    return new TransportError(
      'CLUSTER_UNAVAILABLE',
      `${name} is away: ${this.#why ?? 'it is not connected yet'}`,
      {
        ...(this.#cause !== undefined && { cause: this.#cause }),
        retryable: true,
        data: { engine: name },
      },
    )
  }

  #connect(): void {
    // its outcome arrives as an event
    this.#redis.connect().catch(() => {})
  }

  #begin(): void {
    const { world } = this.#options
    world.clearTimeout(this.#greeting)
    this.#greeting = world.setTimeout(
      () => this.#lose(`it did not answer within ${greetTimeout} ms`),
      greetTimeout,
    )
  }

  async #greet(): Promise<void> {
    this.#connections += 1
    const connection = this.#connections
    this.#redis.stream.on('data', () => {
      this.#heardAt = this.#options.world.now()
    })
    try {
      await this.#options.greet((name, ...args) => this.#call(name, args))
    } catch (error) {
      const { code, message } = error as TransportError
      if (code === 'BAD_OPTION') this.#refusal = error as TransportError
      else this.#judge(message)
      if (connection === this.#connections) this.#lose(message)
      return
    }
    if (connection !== this.#connections || this.#redis.status !== 'ready') return
    this.#options.world.clearTimeout(this.#greeting)
    this.#failures = 0
    this.#why = undefined
    this.#cause = undefined
    this.#refusal = undefined
    this.isUp = true
    this.#options.changed()
  }

  #call(name: string, args: readonly Value[]): Promise<unknown> {
    return this.#send(args, () => this.#redis.call(name.toLowerCase(), [...args]))
  }

  #send(args: readonly Value[], send: () => Promise<unknown>): Promise<unknown> {
    const { world, commandTimeout } = this.#options
    return new Promise((resolve, reject) => {
      const size = sizeOf(args)
      this.#size += size
      const asked = { until: world.now() + commandTimeout + this.#size / slowest, size, reject }
      this.#pending.add(asked)
      this.#watch()
      send().then(
        (value) => {
          if (this.#settle(asked)) resolve(value)
        },
        (error: Error) => {
          if (this.#settle(asked)) reject(this.#failure(error))
        },
      )
    })
  }

  #settle(asked: Asked): boolean {
    if (!this.#pending.delete(asked)) return false
    this.#size -= asked.size
    return true
  }

  /** One timer for all: what was asked first is due first. */
  #watch(): void {
    const { world } = this.#options
    const [oldest] = this.#pending
    if (this.#deadline !== undefined || oldest === undefined) return
    this.#deadline = world.setTimeout(
      () => {
        // a program that was blocked, or frozen, has not read yet what came meanwhile
        world.setImmediate(() => {
          this.#deadline = undefined
          const [first] = this.#pending
          if (first !== undefined && this.#dueAt(first) <= world.now())
            this.#lose(`it did not answer within ${this.#options.commandTimeout} ms`)
          else this.#watch()
        })
      },
      Math.max(1, this.#dueAt(oldest) - world.now()),
    )
  }

  #dueAt({ until }: Asked): number {
    return Math.max(until, this.#heardAt + this.#options.commandTimeout)
  }

  /** Nobody knows what became of what was asked. */
  #lose(why: string): void {
    const { world } = this.#options
    this.#connections += 1
    world.clearTimeout(this.#greeting)
    world.clearTimeout(this.#deadline)
    this.#deadline = undefined
    this.#why ??= why
    const problem = this.problem()
    for (const { reject } of this.#pending) reject(problem)
    this.#pending.clear()
    this.#size = 0
    const wasUp = this.isUp
    this.isUp = false
    if (['connecting', 'connect', 'ready'].includes(this.#redis.status))
      this.#redis.disconnect(!this.#isClosed)
    if (wasUp || !this.#isClosed) this.#options.changed()
  }

  /** The error that the connection will end with; one of the server may quote what it was sent. */
  #note(error: Error): void {
    const isReply = error.name === 'ReplyError'
    this.#why = this.#textOf(error)
    this.#cause = isReply ? undefined : error
    if (isReply) this.#judge(this.#why)
  }

  #judge(text: string): void {
    const { name } = this.#settings
    if (!/WRONGPASS|NOAUTH|NOPERM|invalid password/.test(text)) return
    this.#refusal = optionError('url', `${name} refuses this user and password: ${text}`)
  }

  #failure(error: Error): TransportError {
    const { name } = this.#settings
    const text = this.#textOf(error)
    if (error.name !== 'ReplyError') return this.problem()
    // another server has become the one to write to, or this one begins
    if (/READONLY|LOADING|MASTERDOWN/.test(text)) this.#lose(text)
    return new TransportError('CLUSTER_UNAVAILABLE', `${name}: ${text}`, {
      retryable: true,
      data: { engine: name },
    })
  }

  #textOf({ message }: Error): string {
    const { password = '' } = this.#settings
    return password === '' ? message : message.replaceAll(password, '…')
  }

  #pause(): number {
    const pause = backoff(pauses, this.#failures)
    this.#failures += 1
    return jittered(pause, this.#options.world.random)
  }

  /** The library goes on by itself, but not when it is told to end a connection that has not begun. */
  #goOn(): void {
    if (this.#isClosed) return
    this.#again = this.#options.world.setTimeout(() => {
      if (!this.#isClosed && this.#redis.status === 'end') this.#connect()
    }, this.#pause())
  }
}

function sizeOf(args: readonly Value[]): number {
  return args.reduce<number>((size, arg) => size + (typeof arg === 'string' ? arg.length : 0), 0)
}

/** Nothing is queued, nothing is sent twice; deadlines and what is done first are ours. */
function libraryOptions(settings: RedisSettings, retryStrategy: () => number) {
  const { host, port, username, password, tls } = settings
  return {
    host,
    port,
    username,
    password,
    tls,
    retryStrategy,
    // the one that all versions of the library and the server have
    protocol: 2,
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    disableClientInfo: true,
    maxRetriesPerRequest: 0,
    connectTimeout: greetTimeout,
    disconnectTimeout: pauses.first,
    keepAlive: 1_000,
  } satisfies LibraryOptions
}

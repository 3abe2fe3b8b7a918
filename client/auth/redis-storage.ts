import { AsyncLocalStorage } from 'node:async_hooks'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { lazy } from '../../runtime/faults/load.js'
import { pause, waitWithin } from '../../runtime/time/wait.js'
import { systemWorld } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import type { RedisConnection } from '../../transports/redis/connection.js'
import { readRedisOptions, type RedisOptions, type RedisSettings } from '../../transports/redis/options.js'
import { redisScript } from '../../transports/redis/script.js'
import { badOption } from '../../transports/base/read-option.js'
import { readText } from '../base/read-options.js'
import type { AuthStorage } from './storage.js'

const load = /* @__PURE__ */ lazy(
  '../../transports/redis/connection.js',
  () => import('../../transports/redis/connection.js'),
)

/** Where `redisAuthStorage` keeps what. */
export interface RedisAuthStorageOptions extends RedisOptions {
  /** What its keys begin with. Default `caduceus-auth`. */
  readonly prefix?: string
}

/** Ms between attempts to take a lock. */
const lookEvery = 50
/** Ms that a lock holds without a sign of life of its holder. */
const lease = 10_000
/** Ms between signs of life. */
const beatEvery = 2_500
/** Ms between attempts to write what was renewed. */
const retryEvery = 250
/** Ms that the connection stays once nobody uses it. */
const linger = 250

/** The holder of the lock, for writes made under it. */
interface Held {
  readonly lock: string
  readonly mine: string
}

/** Writes unless the lock, where the writer has one, is another's by now. */
const writing = redisScript(`
if #KEYS == 2 and redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
if ARGV[1] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[1]) end
return 1`)
const beating = redisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`)
const releasing = redisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

/**
 * A storage in Redis or Valkey, for programs on several machines: one of them renews tokens, and all have
 * them. Nothing is encrypted. The lock of a dead program is anybody's after 10 s; one that was taken for dead
 * writes nothing any more. It is connected while it is used, and holds no program. While Redis is away
 * everything rejects with TransportError CLUSTER_UNAVAILABLE. Needs the package `ioredis`. Throws BAD_OPTION.
 */
export function redisAuthStorage(given: RedisAuthStorageOptions): AuthStorage {
  if (!isObject(given))
    throw badOption('options', "an object with a url: { url: 'redis://HOST:PORT' }", given)
  const { prefix = 'caduceus-auth', ...options } = given
  readText(prefix, 'prefix')
  const link = new Link(readRedisOptions(options))
  // one tag: a cluster of Redis keeps all of it in one place, as scripts need it
  const place = (what: string, key: string): string => `{${prefix}}:${what}:${key}`
  const held = new AsyncLocalStorage<Held | undefined>()
  return Object.freeze({
    read: (key: string) => link.use(async (redis) => parsed(await redis.command('GET', place('value', key)))),
    async write(key: string, value: JsonObject | undefined) {
      const { lock, mine } = held.getStore() ?? { lock: undefined, mine: '' }
      const keys = [place('value', key), ...(lock === undefined ? [] : [lock])]
      const text = value === undefined ? '' : JSON.stringify(value)
      const write = () => link.use((redis) => redis.run(writing, keys, [text, mine]))
      if ((await (lock === undefined ? write() : untilDone(write))) !== 1) throw late()
    },
    exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      return link.use(async (redis) => {
        const mine: Held = { lock: place('lock', key), mine: systemWorld.id() }
        try {
          await take(redis, mine, signal)
          const stopBeating = beat(redis, mine)
          try {
            return await held.run(mine, work)
          } finally {
            stopBeating()
          }
        } finally {
          // also when nobody knows whether it was taken
          await redis.run(releasing, [mine.lock], [mine.mine]).catch(() => {})
        }
      })
    },
  })
}

/** Connected while somebody uses it. */
async function open(settings: RedisSettings): Promise<RedisConnection> {
  const { openRedis } = await load()
  return openRedis(settings, { world: systemWorld, own: () => {} })
}

class Link {
  readonly #settings: RedisSettings
  #users = 0
  #timer: unknown
  #connection: Promise<RedisConnection> | undefined

  constructor(settings: RedisSettings) {
    this.#settings = settings
  }

  async use<T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> {
    this.#users += 1
    systemWorld.clearTimeout(this.#timer)
    try {
      return await work(await this.#connected())
    } finally {
      this.#users -= 1
      if (this.#users === 0) this.#timer = systemWorld.setTimeout(() => this.#end(), linger)
    }
  }

  #connected(): Promise<RedisConnection> {
    this.#connection ??= open(this.#settings).catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }

  #end(): void {
    void this.#connection?.then((redis) => redis.close()).catch(() => {})
    this.#connection = undefined
  }
}

/** Waits for the lock. Time is that of this machine, and of Redis: other programs go by it, too. */
async function take(redis: RedisConnection, { lock, mine }: Held, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  while ((await redis.command('SET', lock, mine, 'NX', 'PX', lease)) !== 'OK')
    await waitWithin<void>({ clock: systemWorld, ms: lookEvery, late: () => {}, signal }, () => undefined)
}

/** What was renewed exists nowhere else: it is written as long as the lock may hold. */
async function untilDone<T>(write: () => Promise<T>): Promise<T> {
  const until = systemWorld.now() + lease
  for (;;)
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof TransportError && error.retryable) || systemWorld.now() >= until) throw error
      await pause(retryEvery, systemWorld)
    }
}

/** Shows that the holder lives, until the returned function is called. */
function beat(redis: RedisConnection, { lock, mine }: Held): () => void {
  const next = (): unknown =>
    systemWorld.setTimeout(() => {
      // what is written later tells whether it was in time
      redis.run(beating, [lock], [mine, lease]).catch(() => {})
      due = next()
    }, beatEvery)
  let due = next()
  return () => systemWorld.clearTimeout(due)
}

/** What is unreadable counts as none: signing in mends it. */
function parsed(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** It was taken for dead. What came of its work is not lost: whoever is next asks again. */
function late(): TransportError {
  return new TransportError('CLUSTER_UNAVAILABLE', 'another program has taken over what was to be renewed', {
    retryable: true,
  })
}

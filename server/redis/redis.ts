import { lazy } from '../../runtime/faults/load.js'
import { TransportError } from '../../transports/base/errors.js'
import {
  type RedisOptions,
  type RedisSettings,
  readRedisOptions,
  redisOptionNames,
} from '../../transports/redis/options.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import type { ClusterEngine } from '../engine/engine.js'

/** Options of `redis()`. */
export interface RedisClusterOptions extends RedisOptions {
  /**
   * What the keys of this cluster begin with: nodes with the same one belong together. Default
   * `caduceus:NAME`, with the name of the server's definition.
   */
  readonly prefix?: string | undefined
  /**
   * What nodes sign with what they keep and say to each other, of 32 characters or more; the first signs, all are
   * taken. Default: nothing is signed, and who may write to the Redis may be any client.
   */
  readonly keys?: readonly string[] | undefined
  /**
   * Milliseconds after which a node that was not heard of owns nothing any more: 1,000 to 60,000. A command may
   * take 0.4 of it, but 1,000 at least and 10,000 at most. Default 2,500.
   */
  readonly lease?: number | undefined
  /** Messages that may wait for one node. Default 10,000. */
  readonly maxInbox?: number | undefined
}

const loadEngine = /* @__PURE__ */ lazy('../../server/redis/open.js', () => import('./open.js'))

const { badOption, readFields, readMs, readCount } = readersOf('redis')
/** Characters of a key, at least. */
const keyLength = 32
const names = Object.freeze([...redisOptionNames, 'prefix', 'keys', 'lease', 'maxInbox'])

/**
 * The engine of a cluster on Redis >= 6.2 or Valkey, for the option `engine` of `startServer`. It needs the
 * package `ioredis`, which is loaded when the server starts. Throws ServerError BAD_OPTION; no secret is shown.
 */
export function redis(options: RedisClusterOptions): ClusterEngine {
  const { prefix, keys, lease, maxInbox, ...rest } = readFields(
    options,
    'options',
    names,
  ) as unknown as typeof options
  const settings = readSettings(rest)
  const given = prefix === undefined ? undefined : readPrefix(prefix)
  const leaseTime = readLease(lease)
  return Object.freeze({
    name: settings.name,
    options,
    settings: Object.freeze({
      lease: leaseTime,
      keys: keys === undefined ? undefined : readKeys(keys),
      maxInbox: readCount(maxInbox, 'maxInbox', 10_000),
    }),
    async open(ctx, { node, server }) {
      const { openRedisEngine } = await loadEngine()
      return openRedisEngine(ctx, {
        settings,
        node,
        prefix: given ?? defaultPrefix(server),
        lease: leaseTime,
      })
    },
  } satisfies ClusterEngine)
}

function readSettings(options: RedisOptions): RedisSettings {
  try {
    return readRedisOptions(options)
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    throw optionError(String((error.data as { field?: unknown })?.field), `redis: ${error.message}`)
  }
}

/** Braces in a name would change what decides where keys are. */
function defaultPrefix(server: string): string {
  return `caduceus:${encodeURIComponent(server)}`
}

function readPrefix(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value)) return value
  throw badOption('prefix', '1 to 64 letters, digits, and . : _ -', value)
}

/** A node beats five times within a lease, and an answer may take a second. */
function readLease(value: unknown): number {
  const lease = readMs(value, 'lease', 2_500)
  if (lease >= 1_000 && lease <= 60_000) return lease
  throw badOption('lease', 'milliseconds from 1,000 to 60,000', value)
}

function readKeys(value: unknown): readonly string[] {
  const isFit = (key: unknown): key is string => typeof key === 'string' && key.length >= keyLength
  if (Array.isArray(value) && value.length > 0 && value.every(isFit)) return Object.freeze([...value])
  // what was given is a secret: only its kind is shown
  const got = Array.isArray(value) ? lackOf(value) : value === null ? 'null' : `a ${typeof value}`
  const needed = `one or more texts of ${keyLength} characters or more in an array, the first of which signs`
  throw optionError('keys', `redis: keys: expected ${needed}, got ${got}`)
}

function lackOf(keys: readonly unknown[]): string {
  if (keys.length === 0) return 'an empty array'
  const at = keys.findIndex((key) => typeof key !== 'string' || key.length < keyLength)
  const key = keys[at]
  return `${typeof key === 'string' ? `${key.length} characters` : `a ${typeof key}`} at index ${at}`
}

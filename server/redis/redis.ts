import { TransportError } from '../../transports/base/errors.js'
import { openRedis } from '../../transports/redis/connection.js'
import {
  type RedisOptions,
  type RedisSettings,
  readRedisOptions,
  redisOptionNames,
} from '../../transports/redis/options.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import type { ClusterEngine } from '../nodes/engine.js'
import { baseOf, channelsOf, RedisEngine } from './engine.js'
import { scripts } from './scripts.js'

/** Options of `redis()`. */
export interface RedisClusterOptions extends RedisOptions {
  /** What the keys of this cluster begin with: nodes with the same one belong together. Default `caduceus`. */
  readonly prefix?: string | undefined
  /**
   * What nodes sign with what they say to each other, of 32 characters or more; the first signs, all are taken.
   * Default: nothing is signed.
   */
  readonly keys?: readonly string[] | undefined
  /** Milliseconds after which a node that was not heard of owns nothing any more. Default 2,500. */
  readonly lease?: number | undefined
  /** Messages that may wait for one node. Default 10,000. */
  readonly maxInbox?: number | undefined
}

const { badOption, readFields, readMs, readCount } = readersOf('redis')
const names = Object.freeze([...redisOptionNames, 'prefix', 'keys', 'lease', 'maxInbox'])

/**
 * The engine of a cluster on Redis >= 6.2 or Valkey, for the option `cluster` of `startServer`. It needs the
 * package `ioredis`, which is loaded when the server starts. Throws ServerError BAD_OPTION; no secret is shown.
 */
export function redis(options: RedisClusterOptions): ClusterEngine {
  const { prefix, keys, lease, maxInbox, ...rest } = readFields(
    options,
    'options',
    names,
  ) as unknown as typeof options
  const settings = readSettings(rest)
  const base = baseOf(readPrefix(prefix))
  return Object.freeze({
    name: settings.name,
    settings: Object.freeze({
      lease: readLease(lease),
      keys: keys === undefined ? undefined : readKeys(keys),
      maxInbox: readCount(maxInbox, 'maxInbox', 10_000),
    }),
    async open(ctx, node) {
      const { world } = ctx
      const own = (release: () => void): void => void ctx.own(release)
      const channels = channelsOf(base, node)
      const connection = await openRedis(settings, { world, own, channels, scripts })
      return new RedisEngine(connection, base, () => world.id())
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

function readPrefix(value: unknown = 'caduceus'): string {
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
  const isFit = (key: unknown): key is string => typeof key === 'string' && key.length >= 32
  if (Array.isArray(value) && value.length > 0 && value.every(isFit)) return Object.freeze([...value])
  throw badOption(
    'keys',
    'one or more texts of 32 characters or more, the first of which signs',
    typeof value,
  )
}

import type { ActorContext } from '../../runtime/process/context.js'
import { openRedis } from '../../transports/redis/connection.js'
import type { RedisSettings } from '../../transports/redis/options.js'
import { baseOf, channelsOf, RedisEngine } from './engine.js'
import { scripts } from './scripts.js'

/** Milliseconds that a command may take, at least and at most. */
const shortestTimeout = 1_000
const longestTimeout = 10_000
/** Of a lease, that a command may take: there is time for the next one. */
const partOfLease = 0.4

interface OpenInput {
  readonly settings: RedisSettings
  readonly node: string
  readonly prefix: string
  readonly lease: number
}

/** Connects a node to its Redis. Rejects as `openRedis` does. */
export async function openRedisEngine(
  ctx: ActorContext,
  { settings, node, prefix, lease }: OpenInput,
): Promise<RedisEngine> {
  const base = baseOf(prefix)
  const { world } = ctx
  const own = (release: () => void): void => void ctx.own(release)
  const channels = channelsOf(base, node)
  const commandTimeout = Math.min(longestTimeout, Math.max(shortestTimeout, lease * partOfLease))
  const connection = await openRedis(settings, { world, own, channels, scripts, commandTimeout })
  return new RedisEngine(connection, base, () => world.id())
}

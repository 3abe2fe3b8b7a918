import type { LogOptions } from '../../runtime/faults/log.js'
import type { TreeOptions } from '../../runtime/process/root.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { readShared, type SharedClientOptions } from '../fleet/options.js'
import {
  type ClientSettings,
  readClientOptions,
  readTreeOptions,
  treeFields,
  type TreeSettings,
} from '../options/options.js'
import {
  bad,
  readCount,
  readFields,
  readFlag,
  readFunction,
  readMs,
  readSignal,
  readText,
  readWord,
} from '../base/read-options.js'

/** Who serves the next call: each in turn, the one with the fewest calls under way, or any. */
export type PoolStrategy = 'round_robin' | 'least_busy' | 'random'

/** How members are pinged. */
export interface PoolHealthOptions {
  /** Milliseconds from one ping to the next, and until it counts as unanswered. Default 10,000. */
  readonly every?: number
  /** Unanswered pings in a row after which a member gets no more calls, until it answers again. Default 2. */
  readonly misses?: number
}

/** How a pool of clients is started. */
export interface PoolOptions extends TreeOptions, LogOptions {
  /** Where the server is, or a function that returns it for each member, by its number from 1. */
  readonly transport: ClientTransport | ((member: number) => ClientTransport)
  /** Members to begin with. Default 4. */
  readonly size?: number
  /** Members that must be ready before the start resolves. Default all of them. */
  readonly min?: number
  /** Milliseconds that those may take. Default 30,000. */
  readonly readyTimeout?: number
  /** Default `round_robin`. */
  readonly strategy?: PoolStrategy
  /** Shown in trees and errors; members are clients called NAME-1, NAME-2 and so on. Default `pool`. */
  readonly name?: string
  /** Options of every client. Its `backoff` also spaces restarts of a crashed or failed member. */
  readonly client?: SharedClientOptions
  /** Milliseconds that a checkout may wait for a member. Default 5000. */
  readonly checkoutTimeout?: number
  /** Ms that a member may stay checked out before it is taken back. Default Infinity. */
  readonly maxLease?: number
  /** Calls and checkouts that may wait at once; more are refused with QUEUE_FULL. Default 10,000. */
  readonly maxWaiting?: number
  /** `false`: members are not pinged. */
  readonly health?: PoolHealthOptions | false
  /** A number from 0 to 1, for the strategy `random`. Default: the world of its tree (`clock`). */
  readonly random?: () => number
}

/** What a checkout may be given. */
export interface CheckoutOptions {
  /** Whether the member serves no other caller meanwhile. Default true. */
  readonly exclusive?: boolean
  /** Milliseconds it may wait for a member. Default the `checkoutTimeout` of the pool. */
  readonly timeout?: number
  /** Milliseconds that the member may stay checked out. Default the `maxLease` of the pool. */
  readonly maxLease?: number
  /** Ends the wait when it aborts: the checkout rejects with CANCELLED. */
  readonly signal?: AbortSignal
}

type PoolOwnOption = 'transport' | 'client' | 'health' | keyof TreeOptions | keyof LogOptions

export interface PoolSettings extends Readonly<Required<Omit<PoolOptions, PoolOwnOption>>> {
  readonly health: Required<PoolHealthOptions> | undefined
  /** Default of a call, in ms. */
  readonly timeout: number
  readonly tree: TreeSettings
  /** Settings of that member; `transport` replaces the usual one. Throws BAD_OPTION. */
  readonly member: (number: number, transport?: ClientTransport) => ClientSettings
}

const fields = [
  'transport',
  'size',
  'min',
  'readyTimeout',
  'strategy',
  'name',
  'client',
  'checkoutTimeout',
  'maxLease',
  'maxWaiting',
  'health',
  'random',
]

/** Throws BAD_OPTION. */
export function readPoolOptions(options: PoolOptions): PoolSettings {
  const given = readFields(options, 'options', [...fields, ...treeFields])
  const name = given.name === undefined ? 'pool' : readText(given.name, 'name')
  const size = readCount(given.size, 'size', 4)
  const min = given.min === 0 ? 0 : readCount(given.min, 'min', size)
  if (min > size) throw bad('min', `at most ${size}, the size of the pool`, min)
  const tree = readTreeOptions(options)
  const { random = tree.clock.random } = given
  readFunction(random, 'random')
  const { client, member } = readMembers(name, options)
  return Object.freeze({
    name,
    size,
    min,
    readyTimeout: readMs(given.readyTimeout, 'readyTimeout', 30_000),
    strategy: readStrategy(given.strategy),
    checkoutTimeout: readMs(given.checkoutTimeout, 'checkoutTimeout', 5_000),
    maxLease: readMs(given.maxLease, 'maxLease', Number.POSITIVE_INFINITY),
    maxWaiting: readCount(given.maxWaiting, 'maxWaiting', 10_000),
    health: given.health === false ? undefined : readHealth(given.health),
    random: random as () => number,
    timeout: readMs(client.timeout, 'timeout', 60_000),
    tree,
    member,
  })
}

function readMembers(
  name: string,
  { transport, client }: PoolOptions,
): { client: SharedClientOptions; member: PoolSettings['member'] } {
  const shared = readShared(client)('')
  const usual = typeof transport === 'function' ? transport : () => transport
  const member = (number: number, given?: ClientTransport): ClientSettings =>
    readClientOptions({ ...shared, name: `${name}-${number}`, transport: given ?? usual(number) })
  // a wrong transport is refused before anything is started
  if (typeof transport !== 'function') member(1)
  return { client: shared, member }
}

function readStrategy(value: unknown): PoolStrategy {
  if (value === undefined) return 'round_robin'
  return readWord(value, 'strategy', ['round_robin', 'least_busy', 'random'])
}

function readHealth(value: unknown): Required<PoolHealthOptions> {
  const given = value === undefined ? {} : readFields(value, 'health', ['every', 'misses'])
  return Object.freeze({
    every: readMs(given.every, 'health.every', 10_000),
    misses: readCount(given.misses, 'health.misses', 2),
  })
}

/** Throws BAD_OPTION. */
export function readCheckoutOptions(
  options: CheckoutOptions,
  usual: Pick<PoolSettings, 'checkoutTimeout' | 'maxLease'>,
): { exclusive: boolean; timeout: number; maxLease: number; signal: AbortSignal | undefined } {
  const given = readFields(options, 'options', ['exclusive', 'timeout', 'maxLease', 'signal'])
  return {
    exclusive: readFlag(given.exclusive, 'exclusive', true),
    timeout: readMs(given.timeout, 'timeout', usual.checkoutTimeout),
    maxLease: readMs(given.maxLease, 'maxLease', usual.maxLease),
    signal: readSignal(given.signal),
  }
}

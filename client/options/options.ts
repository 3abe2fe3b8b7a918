import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { type Clock, systemClock } from '../../runtime/time/clock.js'
import type { Logger, LogOptions } from '../../runtime/faults/log.js'
import { Registry } from '../../runtime/process/registry.js'
import type { TreeOptions } from '../../runtime/process/root.js'
import { type AnswerOptions, type Answers, readAnswers } from './answers.js'
import type { BackoffOptions } from '../base/backoff.js'
import {
  bad,
  readCount,
  readFields,
  readFlag,
  readFunction,
  readMs,
  readObject,
  readText,
  readWord,
} from '../base/read-options.js'
import { readBudget, readRetry, type RetryBudgetOptions, type RetryOption } from './retry.js'

/** How a client notices that its server is gone although the connection has not ended: by pings. */
export interface HealthOptions {
  /** Milliseconds between pings, and until a ping counts as unanswered. */
  readonly every: number
  /** Unanswered pings in a row after which the connection is given up. Default 3. */
  readonly misses?: number
}

/**
 * Which revisions a client speaks: 2026-07-28 (`modern`), those with a handshake and sessions (`handshake`),
 * or the newest that the server answers to (`auto`).
 */
export type EraOption = 'auto' | 'modern' | 'handshake'

/** The options of a client. */
export interface ClientOptions extends AnswerOptions {
  /** Where the server is: what `stdio()`, `http()` and the like return, or a transport of your own. */
  readonly transport: ClientTransport
  /** Shown in trees and errors; `findClient` looks for it. Default `client`. */
  readonly name?: string
  /** Who the client says it is. Default this library. */
  readonly clientInfo?: Implementation
  /** Milliseconds a call may take in all, the wait for the connection included. Default 60,000. */
  readonly timeout?: number
  /**
   * Milliseconds a connection may take to open, and `initialize` to be answered. A server that accepts and
   * then says nothing costs that much before the next attempt. Default 30,000 for each.
   */
  readonly handshakeTimeout?: number
  /** Calls that may wait or be in flight at once; more are refused with QUEUE_FULL. Default 10,000. */
  readonly maxCalls?: number
  /**
   * Calls that may be in flight at once. The others wait in the client, in order, and are sent as answers
   * come. Pings and notifications do not count, and do not wait. Default: no bound.
   */
  readonly maxInFlight?: number
  readonly backoff?: BackoffOptions
  /**
   * Delay in ms before a client that failed for good connects again by itself (50 to 100 % of it, at random).
   * Calls made meanwhile fail at once. Default: only `reconnect()` does.
   */
  readonly retryFailed?: number
  /**
   * `auto` asks the server with `server/discover`: 2026-07-28 where it answers, a handshake otherwise.
   * `handshake` and `modern` do not ask. Default `handshake`.
   */
  readonly era?: EraOption
  /**
   * Milliseconds after which a server on a pipe that does not answer `server/discover` counts as one with a
   * handshake. Default 5000.
   */
  readonly probeTimeout?: number
  /** Milliseconds that a handler of yours may take to answer a request of the server. Default 300,000. */
  readonly questionTimeout?: number
  /** Pings the server. Default: only the end of the connection is noticed. */
  readonly health?: HealthOptions
  /**
   * Makes calls again that a busy server refused (429, 503) and said when to come back. Default: they fail at
   * once.
   */
  readonly retryBudget?: RetryBudgetOptions
  /**
   * The `retry` of calls that have none of their own. Default: a call is made again once when its answer got
   * lost and it changes nothing.
   */
  readonly retry?: RetryOption
  /**
   * Whether structured content is checked against the output schema that its tool was listed with. Default
   * true.
   */
  readonly checkOutput?: boolean
  /**
   * Extensions that are declared to servers: their settings, by their ids (`io.modelcontextprotocol/tasks`).
   * `resultTypes` of a call takes what they answer. Default none.
   */
  readonly extensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /**
   * Answers of lists and of `resources/read` that are kept as long as the server allows (2026-07-28); 0 for
   * none. Default 500.
   */
  readonly cacheSize?: number
  /** Bytes that these answers may have in all, as JSON text; the oldest go first. Default 8 MiB. */
  readonly cacheBytes?: number
  /** Crashes of the client within `periodMs` that its supervisor answers with a restart. Default 3. */
  readonly intensity?: number
  /** Milliseconds over which crashes are counted. Default 5000. */
  readonly periodMs?: number
}

/** The options of `startClient`: those of the client, and those of the tree that it starts. */
export interface StartClientOptions extends ClientOptions, TreeOptions, LogOptions {}

const defaultInfo: Implementation = Object.freeze({ name: 'caduceus', version: '0.1.0' })

/** Each option with its check and its default. */
const readers = {
  transport: readTransport,
  name: or(readText, 'client'),
  clientInfo: (value: unknown) => (value === undefined ? defaultInfo : readInfo(value)),
  timeout: or(readMs, 60_000),
  handshakeTimeout: or(readMs, 30_000),
  maxCalls: or(readCount, 10_000),
  maxInFlight: or(readCount, Number.POSITIVE_INFINITY),
  backoff: readBackoff,
  retryFailed: or(readMs, undefined),
  era: (value: unknown = 'handshake', field: string) =>
    readWord(value, field, ['auto', 'modern', 'handshake']),
  probeTimeout: or(readMs, 5_000),
  questionTimeout: or(readMs, 300_000),
  health: or(readHealth, undefined),
  retry: readRetry,
  retryBudget: or(readBudget, undefined),
  checkOutput: or(readFlag, true),
  cacheSize: (value: unknown, field: string) => (value === 0 ? 0 : readCount(value, field, 500)),
  cacheBytes: or(readCount, 8 * 1024 * 1024),
  intensity: or(readIntensity, 3),
  periodMs: or(readMs, 5_000),
}
const fields = [...Object.keys(readers), 'extensions', 'onElicit', 'onSample', 'roots']

type Checked = { readonly [Field in keyof typeof readers]: ReturnType<(typeof readers)[Field]> }

/** Checked options of one client with every default filled in. */
export interface ClientSettings extends Checked {
  readonly answers: Answers
  /** What is declared to servers. */
  readonly capabilities: ClientCapabilities
}

/** The names of the options of a tree. */
export const treeFields: readonly string[] = ['clock', 'registry', 'unowned', 'logger', 'logLevels']

/** Reads the options of a client. Throws BAD_OPTION, naming the field. */
export function readClientOptions(options: ClientOptions): ClientSettings {
  const given = readFields(options, 'options', fields)
  const checked = Object.entries(readers).map(([field, read]) => [field, read(given[field], field)])
  const answers = readAnswers(given)
  const { extensions } = given
  const capabilities =
    extensions === undefined
      ? answers.capabilities
      : Object.freeze({ ...answers.capabilities, extensions: readExtensions(extensions) })
  return Object.freeze({ ...(Object.fromEntries(checked) as Checked), answers, capabilities })
}

/** Reads the options of `startClient`. Throws BAD_OPTION, naming the field. */
export function readStartOptions(options: StartClientOptions): {
  client: ClientSettings
  tree: TreeOptions & LogOptions
} {
  readFields(options, 'options', [...fields, ...treeFields])
  const { clock, registry, unowned, logger, logLevels, ...client } = options
  return { client: readClientOptions(client), tree: readTreeOptions(options) }
}

/** Reads the options of a tree from among others. Throws BAD_OPTION, naming the field. */
export function readTreeOptions(options: TreeOptions & LogOptions): TreeOptions & LogOptions {
  const { clock, registry, unowned, logger, logLevels } = options
  const tree: TreeOptions & LogOptions = { logger: readLogger(logger), logLevels, clock: readClock(clock) }
  if (registry !== undefined) tree.registry = readRegistry(registry)
  // a client is a guest: errors of the program around it are not for it to judge
  tree.unowned = unowned === undefined ? 'exit' : readWord(unowned, 'unowned', ['report', 'stop', 'exit'])
  return tree
}

/** The registry of a tree. Throws BAD_OPTION. */
export function readRegistry(value: unknown): Registry {
  if (value instanceof Registry) return value
  throw bad('registry', 'a Registry', value)
}

/** The same check for an option that may be left out. */
function or<Value, Fallback>(read: (value: unknown, field: string) => Value, fallback: Fallback) {
  return (value: unknown, field: string) => (value === undefined ? fallback : read(value, field))
}

function readHealth(value: unknown): Required<HealthOptions> {
  const { every, misses } = readFields(value, 'health', ['every', 'misses'])
  return Object.freeze({
    every: readMs(every, 'health.every'),
    misses: readCount(misses, 'health.misses', 3),
  })
}

function readClock(value: unknown): Clock {
  if (value === undefined) return systemClock
  if (has<Clock>(value, ['now', 'setTimeout', 'clearTimeout'])) return value
  throw bad('clock', 'an object with now, setTimeout and clearTimeout', value)
}

function readLogger(value: unknown): LogOptions['logger'] {
  if (value === undefined || value === false) return value
  if (has<Logger>(value, ['debug', 'info', 'warn', 'error'])) return value
  throw bad('logger', 'false or an object with debug, info, warn and error', value)
}

function has<T>(value: unknown, methods: readonly (keyof T)[]): value is T {
  return value !== null && methods.every((method) => typeof (value as Partial<T>)[method] === 'function')
}

/** What connects to a server. Throws BAD_OPTION. */
export function readTransport(value: unknown, field = 'transport'): ClientTransport {
  const transport = value as Partial<ClientTransport> | null | undefined
  if (typeof transport?.connect === 'function' && typeof transport.name === 'string')
    return transport as ClientTransport
  const hint =
    typeof value === 'string'
      ? ', such as http(address) for a text'
      : typeof (value as { bind?: unknown } | null | undefined)?.bind === 'function'
        ? ', and not what a server listens with'
        : ''
  throw bad(field, `what stdio() or http() returns, or { name, connect }${hint}`, value)
}

function readInfo(value: unknown): Implementation {
  const info = value as Partial<Implementation> | null
  if (typeof info?.name !== 'string') throw bad('clientInfo.name', 'a string', info?.name)
  if (typeof info.version !== 'string') throw bad('clientInfo.version', 'a string', info.version)
  return Object.freeze({ ...info }) as Implementation
}

/** Their ids are keys with a prefix (specification: basic, `_meta`). */
const extensionId = /^[a-z][a-z\d-]*(?:\.[a-z][a-z\d-]*)*\/[a-z\d][\w.-]*$/i

function readExtensions(value: unknown): NonNullable<ClientCapabilities['extensions']> {
  const entries = Object.entries(readObject(value, 'extensions')).map(([id, given]) => {
    if (!extensionId.test(id)) throw bad('extensions', 'ids such as com.example/name as keys', id)
    return [id, readObject(given, `extensions[${JSON.stringify(id)}]`)]
  })
  return Object.freeze(Object.fromEntries(entries))
}

function readIntensity(value: unknown, field: string): number {
  const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isWhole && (value as number) >= 0) return value as number
  throw bad(field, 'a whole number of 0 or more', value)
}

function readBackoff(value: unknown = {}): Required<BackoffOptions> {
  const given = readFields(value, 'backoff', ['base', 'cap', 'awaitedCap', 'stable', 'random'])
  const { random = Math.random } = given
  readFunction(random, 'backoff.random')
  return Object.freeze({
    base: readMs(given.base, 'backoff.base', 500),
    cap: readMs(given.cap, 'backoff.cap', 30_000),
    awaitedCap: readMs(given.awaitedCap, 'backoff.awaitedCap', 1_000),
    stable: readMs(given.stable, 'backoff.stable', 10_000),
    random: random as () => number,
  })
}

import type { Implementation } from '../../protocol/messages/base.js'
import { type ClientCapabilities, isExtensionId } from '../../protocol/messages/capabilities.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import type { Clock } from '../../runtime/time/clock.js'
import { systemWorld, type World, worldOf } from '../../runtime/time/world.js'
import type { Logger, LogOptions } from '../../runtime/faults/log.js'
import { Registry } from '../../runtime/process/registry.js'
import { inspectorReader, type MachineInspector } from '../../runtime/watch/inspector.js'
import type { TreeOptions } from '../../runtime/process/root.js'
import { version } from '../../runtime/base/version.js'
import { type AnswerOptions, type Answers, readAnswers } from './answers.js'
import type { BackoffOptions, BackoffSettings } from '../base/backoff.js'
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
 * In which era a client and its server speak. `handshake`: in a session, and in 2026-07-28 where the server has
 * no handshake. `auto`: in 2026-07-28 where the server speaks it, else in a session. `modern`: in 2026-07-28.
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
  /** Ms for a connection to open, and for `initialize` to be answered. Default 30,000 for each. */
  readonly handshakeTimeout?: number
  /** Calls that may wait or be in flight at once; more are refused with QUEUE_FULL. Default 10,000. */
  readonly maxCalls?: number
  /** Calls in flight at once, without pings and notifications; others wait in order. Default: no bound. */
  readonly maxInFlight?: number
  readonly backoff?: BackoffOptions
  /** Ms before a failed client reconnects (50 to 100 % of it, random). Default: only `reconnect()` does. */
  readonly retryFailed?: number
  /** `handshake` begins with `initialize`, the others with `server/discover`. Default `handshake`. */
  readonly era?: EraOption
  /** Ms until a silent server on a pipe counts as one with a handshake (`server/discover`). Default 5000. */
  readonly probeTimeout?: number
  /** Milliseconds that a handler of yours may take to answer a request of the server. Default 300,000. */
  readonly questionTimeout?: number
  /**
   * Hears what its connection machine does, as xstate tells it (`createActor`, `inspect`), a little later;
   * also an object with `next`, such as the inspectors for xstate are. Default: nobody.
   */
  readonly inspect?: MachineInspector
  /** Pings the server. Default: only the end of the connection is noticed. */
  readonly health?: HealthOptions
  /** Repeats calls that a busy server refused (429, 503) with a time. Default: they fail at once. */
  readonly retryBudget?: RetryBudgetOptions
  /** The `retry` of calls without one. Default: once after a lost answer, if the call changes nothing. */
  readonly retry?: RetryOption
  /** Whether structured content is checked against the output schema of its tool. Default true. */
  readonly checkOutput?: boolean
  /**
   * Settings of declared extensions by id (`com.example/x`); see `resultTypes`. Default none but
   * `io.modelcontextprotocol/tasks`, which is declared in 2026-07-28.
   */
  readonly extensions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Lists and resources kept as long as the server allows (2026-07-28). Default 500; 0: none. */
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

const defaultInfo: Implementation = Object.freeze({ name: 'caduceus', version })

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
  inspect: or(inspectorReader(bad), undefined),
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

export interface ClientSettings extends Checked {
  readonly answers: Answers
  readonly capabilities: ClientCapabilities
}

export const treeFields: readonly string[] = [
  ...['clock', 'registry', 'unowned', 'onBlocked', 'blockedAfter', 'logger', 'logLevels'],
]

/** Throws BAD_OPTION. */
export function readClientOptions(options: ClientOptions): ClientSettings {
  if (typeof options === 'string')
    throw bad('options', 'an object, such as { transport: http(address) }', options)
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

/** Options of a tree as they were read: its clock is a whole world. */
export type TreeSettings = TreeOptions & LogOptions & { readonly clock: World }

const example = 'startClient({ transport: http(address) })'

/** Throws BAD_OPTION. */
export function readStartOptions(options: StartClientOptions): {
  client: ClientSettings
  tree: TreeSettings
} {
  readFields(options, 'options', [...fields, ...treeFields], '', example)
  const { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels, ...client } = options
  return { client: readClientOptions(client), tree: readTreeOptions(options) }
}

/** Throws BAD_OPTION. */
export function readTreeOptions(options: TreeOptions & LogOptions): TreeSettings {
  const { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels } = options
  const own = { logger: readLogger(logger), logLevels, onBlocked, blockedAfter }
  const tree: TreeSettings = { ...own, clock: readClock(clock) }
  if (registry !== undefined) tree.registry = readRegistry(registry)
  // a client is a guest: errors of the program around it are not for it to judge
  tree.unowned = unowned === undefined ? 'exit' : readWord(unowned, 'unowned', ['report', 'stop', 'exit'])
  return tree
}

/** Throws BAD_OPTION. */
export function readRegistry(value: unknown): Registry {
  if (value instanceof Registry) return value
  throw bad('registry', 'a Registry', value)
}

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

function readClock(value: unknown = systemWorld): World {
  if (has<Clock>(value, ['now', 'setTimeout', 'clearTimeout'])) return worldOf(value)
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

/** Throws BAD_OPTION. */
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

function readExtensions(value: unknown): NonNullable<ClientCapabilities['extensions']> {
  const entries = Object.entries(readObject(value, 'extensions')).map(([id, given]) => {
    if (!isExtensionId(id)) throw bad('extensions', 'ids such as com.example/name as keys', id)
    return [id, readObject(given, `extensions[${JSON.stringify(id)}]`)]
  })
  return Object.freeze(Object.fromEntries(entries))
}

function readIntensity(value: unknown, field: string): number {
  const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isWhole && (value as number) >= 0) return value as number
  throw bad(field, 'a whole number of 0 or more', value)
}

function readBackoff(value: unknown = {}): BackoffSettings {
  const given = readFields(value, 'backoff', ['base', 'cap', 'awaitedCap', 'stable', 'random'])
  const { random } = given
  if (random !== undefined) readFunction(random, 'backoff.random')
  return Object.freeze({
    base: readMs(given.base, 'backoff.base', 500),
    cap: readMs(given.cap, 'backoff.cap', 30_000),
    awaitedCap: readMs(given.awaitedCap, 'backoff.awaitedCap', 1_000),
    stable: readMs(given.stable, 'backoff.stable', 10_000),
    random: random as (() => number) | undefined,
  })
}

import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { type Clock, systemClock } from '../../runtime/time/clock.js'
import type { Logger, LogOptions } from '../../runtime/faults/log.js'
import { Registry } from '../../runtime/process/registry.js'
import type { TreeOptions, Unowned } from '../../runtime/process/tree.js'
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

/**
 * How a client finds out that a server has died without a word, such as one that was stopped or whose machine
 * is gone.
 */
export interface HealthOptions {
  /** Milliseconds from one question to the next, and until it counts as unanswered. */
  readonly every: number
  /** Unanswered questions in a row after which the connection is given up. Default 3. */
  readonly misses?: number
}

/** How a client goes about the eras; `auto` asks the server. */
export type EraOption = 'auto' | 'modern' | 'handshake'

/** What a client is made of. */
export interface ClientOptions extends AnswerOptions {
  /** Where the server is: what `stdio()`, `http()` and the like return, or a transport of your own. */
  readonly transport: ClientTransport
  /** Shown in trees and errors, and what the client is found by. Default `client`. */
  readonly name?: string
  /** Who we tell the server we are. Default this library. */
  readonly clientInfo?: Implementation
  /** Milliseconds a call may take in all, waiting for the connection included. Default 60,000. */
  readonly timeout?: number
  /**
   * Milliseconds a connection may take to open, and `initialize` to be answered; a server that accepts and
   * says nothing costs that much before the next attempt. Default 30,000 for each.
   */
  readonly handshakeTimeout?: number
  /** Calls that may wait or be in flight at once; more are refused with QUEUE_FULL. Default 10,000. */
  readonly maxCalls?: number
  /**
   * Calls that may be in flight at once; those beyond wait here, in order, and are sent as answers come. For
   * a server that can do only so much at a time. Pings and notifications never wait for it. Default: no such
   * bound.
   */
  readonly maxInFlight?: number
  readonly backoff?: BackoffOptions
  /**
   * Milliseconds after which a client is tried again for which trying again was of no use, since such things
   * are mended, too: at some time between half of it and all. Calls made meanwhile fail at once, as without
   * it. Default: never, until `reconnect()`.
   */
  readonly retryFailed?: number
  /**
   * Whether the server is asked for its era (`auto`: 2026-07-28 where it speaks it, a handshake otherwise),
   * or taken for one that has sessions (`handshake`, the default), or for one of 2026-07-28 (`modern`).
   */
  readonly era?: EraOption
  /**
   * Milliseconds after which a server on a pipe that does not answer `server/discover` counts as one with a
   * handshake. Default 5000.
   */
  readonly probeTimeout?: number
  /** Milliseconds that a handler of yours may take to answer a question of the server. Default 300,000. */
  readonly questionTimeout?: number
  /** Asks a silent server for a sign of life; without it, only its end is noticed. */
  readonly health?: HealthOptions
  /**
   * Makes calls again that a busy server turned away (429, 503) if it says when; without it, they fail at
   * once.
   */
  readonly retryBudget?: RetryBudgetOptions
  /**
   * Whether and how calls are made again that say nothing of it themselves: as `retry` of a call. Default:
   * once, where an answer got lost and the call changes nothing.
   */
  readonly retry?: RetryOption
  /**
   * Whether structured content is checked against the output schema that the tool was listed with. Default
   * true.
   */
  readonly checkOutput?: boolean
  /**
   * Extensions that servers are told this client speaks, by their ids (`io.modelcontextprotocol/tasks`), with
   * their settings; `resultTypes` of a call takes what they answer. Default none.
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
  /** Milliseconds that crashes are counted over. Default 5000. */
  readonly periodMs?: number
}

/** What `startClient` takes besides: matters of the tree it starts. */
export interface StartClientOptions extends ClientOptions, TreeOptions, LogOptions {}

/** Checked options of one client with every default filled in. */
export interface ClientSettings {
  readonly transport: ClientTransport
  readonly name: string
  readonly clientInfo: Implementation
  readonly timeout: number
  readonly handshakeTimeout: number
  readonly maxCalls: number
  readonly maxInFlight: number
  readonly backoff: Required<BackoffOptions>
  readonly retryFailed: number | undefined
  readonly era: EraOption
  readonly probeTimeout: number
  readonly questionTimeout: number
  readonly health: Required<HealthOptions> | undefined
  readonly retryBudget: RetryBudgetOptions | undefined
  readonly retry: RetryOption | undefined
  readonly checkOutput: boolean
  readonly cacheSize: number
  readonly cacheBytes: number
  readonly answers: Answers
  /** What is declared to servers. */
  readonly capabilities: ClientCapabilities
  readonly intensity: number
  readonly periodMs: number
}

const version = '0.1.0'
const defaultInfo: Implementation = Object.freeze({ name: 'caduceus', version })
const fields = [
  'transport',
  'name',
  'clientInfo',
  'timeout',
  'handshakeTimeout',
  'maxCalls',
  'maxInFlight',
  'backoff',
  'retryFailed',
  'era',
  'probeTimeout',
  'questionTimeout',
  'health',
  'retryBudget',
  'retry',
  'checkOutput',
  'extensions',
  'cacheSize',
  'cacheBytes',
  'onElicit',
  'onSample',
  'roots',
  'intensity',
  'periodMs',
]
/** The names of the options of a tree. */
export const treeFields = ['clock', 'registry', 'unowned', 'logger', 'logLevels'] as const

/** Reads the options of a client. Throws BAD_OPTION, naming the field. */
export function readClientOptions(options: ClientOptions): ClientSettings {
  const given = readFields(options, 'options', fields)
  const answers = readAnswers(given)
  return Object.freeze({
    transport: readTransport(given.transport),
    name: given.name === undefined ? 'client' : readName(given.name),
    clientInfo: given.clientInfo === undefined ? defaultInfo : readInfo(given.clientInfo),
    timeout: readMs(given.timeout, 'timeout', 60_000),
    handshakeTimeout: readMs(given.handshakeTimeout, 'handshakeTimeout', 30_000),
    maxCalls: readCount(given.maxCalls, 'maxCalls', 10_000),
    maxInFlight: readCount(given.maxInFlight, 'maxInFlight', Number.POSITIVE_INFINITY),
    backoff: readBackoff(given.backoff),
    retryFailed: given.retryFailed === undefined ? undefined : readMs(given.retryFailed, 'retryFailed', 0),
    era: given.era === undefined ? 'handshake' : readWord(given.era, 'era', ['auto', 'modern', 'handshake']),
    probeTimeout: readMs(given.probeTimeout, 'probeTimeout', 5_000),
    questionTimeout: readMs(given.questionTimeout, 'questionTimeout', 300_000),
    health: given.health === undefined ? undefined : readHealth(given.health),
    retry: readRetry(given.retry),
    retryBudget: given.retryBudget === undefined ? undefined : readBudget(given.retryBudget),
    checkOutput: readFlag(given.checkOutput, 'checkOutput', true),
    cacheSize: given.cacheSize === 0 ? 0 : readCount(given.cacheSize, 'cacheSize', 500),
    cacheBytes: readCount(given.cacheBytes, 'cacheBytes', 8 * 1024 * 1024),
    answers,
    capabilities:
      given.extensions === undefined
        ? answers.capabilities
        : Object.freeze({
            ...answers.capabilities,
            extensions: readExtensions(given.extensions),
          }),
    intensity: readIntensity(given.intensity, 'intensity', 3),
    periodMs: readMs(given.periodMs, 'periodMs', 5_000),
  })
}

/**
 * Takes the options of `startClient` apart: those of the client, and those of its tree. Throws BAD_OPTION,
 * naming the field.
 */
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
  tree.unowned = unowned === undefined ? 'exit' : readUnowned(unowned)
  return tree
}

/** The registry of a tree. Throws BAD_OPTION. */
export function readRegistry(value: unknown): Registry {
  if (value instanceof Registry) return value
  throw bad('registry', 'a Registry', value)
}

function readHealth(value: unknown): Required<HealthOptions> {
  const { every, misses } = readFields(value, 'health', ['every', 'misses'])
  if (every === undefined) throw bad('health.every', 'milliseconds above 0', every)
  return Object.freeze({
    every: readMs(every, 'health.every', 0),
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

function readUnowned(value: unknown): Unowned {
  if (value === 'report' || value === 'stop' || value === 'exit') return value
  throw bad('unowned', "'report', 'stop' or 'exit'", value)
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

function readName(value: unknown): string {
  return readText(value, 'name')
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

function readIntensity(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback
  if (
    typeof value === 'number' &&
    value >= 0 &&
    (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
  )
    return value
  throw bad(field, 'a whole number of 0 or more', value)
}

function readBackoff(value: unknown): Required<BackoffOptions> {
  const given =
    value === undefined ? {} : readFields(value, 'backoff', ['base', 'cap', 'awaitedCap', 'stable', 'random'])
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

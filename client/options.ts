import type { Implementation } from '../protocol/types/base.js'
import type { ClientTransport } from '../transports/contract.js'
import { type Clock, systemClock } from '../runtime/clock.js'
import { show } from '../runtime/errors.js'
import type { Logger, LogOptions } from '../runtime/log.js'
import { Registry } from '../runtime/registry.js'
import type { TreeOptions } from '../runtime/tree.js'
import { ClientError } from './errors.js'

/** How a client waits before it connects again: full jitter below a ceiling that doubles with every failure. */
export interface BackoffOptions {
  /** The ceiling of the first wait, in ms. Default 500. */
  readonly base?: number
  /** The highest ceiling, in ms. Default 30,000. */
  readonly cap?: number
  /** How long a connection must be ready until earlier failures are forgotten, in ms. Default 10,000. */
  readonly stable?: number
  /** Where the jitter comes from: a number from 0 to 1. Default `Math.random`. */
  readonly random?: () => number
}

/** What a client is made of. */
export interface ClientOptions {
  /** Where the server is: what `stdio()`, `http()` and the like return, or a transport of your own. */
  readonly transport: ClientTransport
  /** Shown in trees and errors, and what the client is found by. Default `client`. */
  readonly name?: string
  /** Who we tell the server we are. Default this library. */
  readonly clientInfo?: Implementation
  /** Milliseconds a call may take in all, waiting for the connection included. Default 60,000. */
  readonly timeout?: number
  /** Milliseconds a connection may take to open, and `initialize` to be answered. Default 30,000 for each. */
  readonly handshakeTimeout?: number
  /** Calls that may wait or be in flight at once; more are refused with QUEUE_FULL. Default 10,000. */
  readonly maxCalls?: number
  readonly backoff?: BackoffOptions
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
  readonly backoff: Required<BackoffOptions>
  readonly intensity: number
  readonly periodMs: number
}

/** What one call may be given besides its params. */
export interface CallOptions {
  /** Milliseconds the call may take in all. Default: the client's `timeout`. */
  readonly timeout?: number
  /** Gives the call up when it aborts: it rejects with CANCELLED, and the server is told. */
  readonly signal?: AbortSignal
  /** Hears of the progress that the server reports. What it throws stops nothing. */
  readonly onProgress?: (progress: {
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}

/** Checked options of one call. */
export interface CallSettings {
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: CallOptions['onProgress']
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
  'backoff',
  'intensity',
  'periodMs',
]
const treeFields = ['clock', 'registry', 'unowned', 'logger']

/** Reads the options of a client. Throws BAD_OPTION, naming the field. */
export function readClientOptions(options: ClientOptions): ClientSettings {
  const given = readFields(options, 'options', fields)
  return Object.freeze({
    transport: readTransport(given.transport),
    name: given.name === undefined ? 'client' : readName(given.name),
    clientInfo: given.clientInfo === undefined ? defaultInfo : readInfo(given.clientInfo),
    timeout: readMs(given.timeout, 'timeout', 60_000),
    handshakeTimeout: readMs(given.handshakeTimeout, 'handshakeTimeout', 30_000),
    maxCalls: readCount(given.maxCalls, 'maxCalls', 10_000),
    backoff: readBackoff(given.backoff),
    intensity: readIntensity(given.intensity, 'intensity', 3),
    periodMs: readMs(given.periodMs, 'periodMs', 5_000),
  })
}

/** Takes the options of `startClient` apart: those of the client, and those of its tree. Throws BAD_OPTION, naming the field. */
export function readStartOptions(options: StartClientOptions): {
  client: ClientSettings
  tree: TreeOptions & LogOptions
} {
  readFields(options, 'options', [...fields, ...treeFields])
  const { clock, registry, unowned, logger, ...client } = options
  const tree: TreeOptions & LogOptions = { logger: readLogger(logger), clock: readClock(clock) }
  if (registry !== undefined) tree.registry = readRegistry(registry)
  if (unowned !== undefined) tree.unowned = readUnowned(unowned)
  return { client: readClientOptions(client), tree }
}

/** The registry of a tree. Throws BAD_OPTION. */
export function readRegistry(value: unknown): Registry {
  if (value instanceof Registry) return value
  throw bad('registry', 'a Registry', value)
}

/** Reads the options of a call. Throws BAD_OPTION, naming the field. */
export function readCallOptions(options: CallOptions | undefined, timeout: number): CallSettings {
  const given =
    options === undefined ? {} : readFields(options, 'options', ['timeout', 'signal', 'onProgress'])
  const { signal, onProgress } = given
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw bad('signal', 'an AbortSignal', signal)
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw bad('onProgress', 'a function', onProgress)
  return {
    timeout: readMs(given.timeout, 'timeout', timeout),
    signal,
    onProgress: onProgress as CallOptions['onProgress'],
  }
}

/** A number of milliseconds above 0; Infinity is one. Throws BAD_OPTION. */
export function readMs(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && value > 0) return value
  throw bad(field, 'milliseconds above 0', value)
}

/** A name or other text that must not be empty. Throws BAD_OPTION. */
export function readText(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw bad(field, 'a non-empty string', value)
}

/** A function. Throws BAD_OPTION. */
export function readFunction(value: unknown, field: string): void {
  if (typeof value !== 'function') throw bad(field, 'a function', value)
}

/** A whole number above 0. Throws BAD_OPTION. */
export function readCount(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw bad(field, 'a whole number above 0', value)
}

/** The BAD_OPTION error that names a field, what was expected of it and what came. */
export function bad(field: string, expected: string, got: unknown): ClientError {
  const data = { field, sent: false }
  return new ClientError('BAD_OPTION', `${field}: expected ${expected}, got ${show(got)}`, { data })
}

/** Checks that `value` is an object with known fields only. Throws BAD_OPTION. */
export function readFields(value: unknown, where: string, known: readonly string[]): Record<string, unknown> {
  const given = readObject(value, where)
  const unknown = Object.keys(given).find((field) => !known.includes(field))
  if (unknown !== undefined) throw bad(unknown, `a field among ${known.join(', ')}`, unknown)
  return given
}

/** An object that is no array. Throws BAD_OPTION. */
export function readObject(value: unknown, field: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw bad(field, 'an object', value)
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

function readUnowned(value: unknown): 'report' | 'stop' {
  if (value === 'report' || value === 'stop') return value
  throw bad('unowned', "'report' or 'stop'", value)
}

function has<T>(value: unknown, methods: readonly (keyof T)[]): value is T {
  return value !== null && methods.every((method) => typeof (value as Partial<T>)[method] === 'function')
}

function readTransport(value: unknown): ClientTransport {
  const transport = value as Partial<ClientTransport> | null | undefined
  if (typeof transport?.connect === 'function' && typeof transport.name === 'string')
    return transport as ClientTransport
  throw bad('transport', 'what stdio() or http() returns, or { name, connect }', value)
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
  const given = value === undefined ? {} : readFields(value, 'backoff', ['base', 'cap', 'stable', 'random'])
  const { random = Math.random } = given
  readFunction(random, 'backoff.random')
  return Object.freeze({
    base: readMs(given.base, 'backoff.base', 500),
    cap: readMs(given.cap, 'backoff.cap', 30_000),
    stable: readMs(given.stable, 'backoff.stable', 10_000),
    random: random as () => number,
  })
}

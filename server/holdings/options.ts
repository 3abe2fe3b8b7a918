import type { Revision } from '../../protocol/dialects/dialect.js'
import { isObject } from '../../protocol/wire/json.js'
import { allRevisions, handshakeRevisions } from '../../protocol/dialects/versions.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import type { RootOptions } from '../../runtime/process/root.js'
import { isCount } from '../../runtime/supervision/options.js'
import type { ServerTransport } from '../../transports/contract/contract.js'
import { isServer, type ServerDefinition } from '../definitions/define-server.js'
import { ServerError, optionError } from '../base/errors.js'
import { namesOf, type ServerNames } from '../base/names.js'
import { SealedIds } from './sealed-ids.js'
import { sealRequestStates } from './request-state.js'
import type { Sealing, Secrets } from '../base/sealing.js'
import { needsSessions } from '../definitions/session-needs.js'
import type { SessionStore } from '../stores/session-store.js'
import { isStart, type StartCondition } from './start-condition.js'

/** How a server is run. */
export interface ServerOptions {
  /** How clients reach it: `serveHttp()`, `serveStdio()`. */
  readonly transport: ServerTransport
  /** What its processes are named after. Default: the name of the definition. */
  readonly name?: string
  /**
   * Any value for `session.init` of the definition, as it is: what differs from one start to another, such as
   * a database.
   */
  readonly initArg?: unknown
  /**
   * The revisions of MCP that are spoken. In all others it is refused as the specification has it, so that a
   * client that has more than one falls back. Default: all, or, where something is defined with
   * `session: true`, those with sessions: 2024-11-05 to 2025-11-25.
   */
  readonly revisions?: readonly Revision[]
  /** Where sessions are kept. Default: in memory, above the group. */
  readonly store?: SessionStore
  /** What `sealedIds` returns: ids that programs without a common store understand. Default: random ids. */
  readonly sessionIds?: SealedIds
  /**
   * Whether to start at all, or a function that is asked at each start; a server on standard input always
   * starts. Default: the environment variable CADUCEUS_SERVER (`0`, `false` and `off` say no, anything else
   * yes), and otherwise true.
   */
  readonly start?: StartCondition
  /** Sessions at once; more are answered 503. Default 10,000. */
  readonly maxSessions?: number
  /**
   * Sessions of one client at once; more are answered 429. A client is whoever the listener's `authenticate`
   * finds, or else an address (IPv6: a /64; behind proxies the one that `trustProxy` finds). Default 1,000,
   * and any number for nobody from the addresses of this machine.
   */
  readonly maxSessionsPerClient?: number
  /** Streams of `subscriptions/listen` (2026-07-28) at once; more are answered 503. Default 10,000. */
  readonly maxListens?: number
  /**
   * Milliseconds without a message, a request in flight or a reader after which a session ends. Default 30
   * min.
   */
  readonly idleTimeout?: number
  /**
   * Requests of one session that are worked on at once; more wait for their turn, in the order in which they
   * came. Default 64.
   */
  readonly maxRequests?: number
  /**
   * Requests without a session (2026-07-28) that are worked on at once; more wait for their turn, each client
   * in its own. Default 1,000.
   */
  readonly maxExchanges?: number
  /**
   * Requests of one session, or of one client without sessions, that may wait for their turn; 64 MiB of them
   * at most, and 256 MiB of all. More are refused: JSON-RPC error 429 with `data.retryable` in a session, 503
   * without. On standard input the server reads on slower instead. Default 10,000.
   */
  readonly maxWaiting?: number
  /** Milliseconds a request may take, unless its tool says otherwise. Default 30 min. */
  readonly requestTimeout?: number
  /**
   * Milliseconds that a client is given to answer a question (`ctx.elicit` and the like); in 2026-07-28 what
   * it sends back later is refused (24 h at most). Default 10 min.
   */
  readonly askTimeout?: number
  /**
   * What `requestState` is sealed with, in which a client of 2026-07-28 sends back what a call knows when it
   * was asked something: secrets of 32 bytes or characters or more, 16 of them at most. The first seals, all
   * of them open; give the same ones to every program behind one address. Default: a random one, which ends
   * with this program.
   */
  readonly requestStateKeys?: Secrets
  /**
   * Whether a handler that asks a client of 2026-07-28 waits in memory for the answer: it goes on where it
   * was. Otherwise, and always when there is no room or the answer comes to another program, it is run again
   * with the answers; the outcome is the same. Switch it off to test a handler. Default true.
   */
  readonly parking?: boolean | ParkingOptions
  /** Milliseconds that requests in flight are given when the server stops. Default 10,000. */
  readonly drainTimeout?: number
  /** Components on one page of a list. Default 500. */
  readonly pageSize?: number
  /**
   * Whether clients are shown crashes, their messages and stacks: for development, since both may say what is
   * nobody's business. Default false: a neutral text with the number of the report.
   */
  readonly exposeErrors?: boolean
}

/** How calls are kept that wait for their client's answer. */
export interface ParkingOptions {
  /** Milliseconds that one is kept at most. Default 10 min. */
  readonly time?: number
  /** How many at once. Default 1,000. */
  readonly max?: number
  /** How many of one principal at once; those of nobody in particular are not counted apart. Default 16. */
  readonly maxPerPrincipal?: number
}

/** Checked limits. */
export type ParkingLimits = Readonly<Required<ParkingOptions>>

/** Checked options with every default filled in. */
export interface ServerSettings
  extends Readonly<
    Omit<
      Required<ServerOptions>,
      | 'revisions'
      | 'store'
      | 'sessionIds'
      | 'start'
      | 'name'
      | 'initArg'
      | 'maxSessionsPerClient'
      | 'requestStateKeys'
      | 'parking'
    >
  > {
  readonly definition: ServerDefinition
  readonly name: string
  readonly initArg: unknown
  /** Newest first. */
  readonly revisions: readonly Revision[]
  readonly names: ServerNames
  readonly store: SessionStore | undefined
  readonly sessionIds: SealedIds | undefined
  readonly start: StartCondition | undefined
  readonly maxSessionsPerClient: number | undefined
  /** Undefined: a random key. */
  readonly requestStates: Sealing | undefined
  /** Undefined: a random one. */
  readonly cursorKeys: Secrets | undefined
  readonly parking: ParkingLimits
}

/** What belongs to the whole tree of a server that is started on its own. */
export type TreeWideOptions = Pick<RootOptions, 'clock' | 'registry' | 'unowned' | 'logger' | 'logLevels'> & {
  /**
   * Whether SIGTERM and SIGINT stop the server in an orderly way: requests in flight are given
   * `drainTimeout`, streams end, hooks run, and the program ends with `process.exitCode`, or 0, unless it
   * listens for the signal itself. A second signal ends it at once. Default true; false for a host program
   * that calls `stop()` itself.
   */
  readonly signals?: boolean
}

const numbers = Object.freeze({
  maxSessions: 10_000,
  maxListens: 10_000,
  idleTimeout: 30 * 60_000,
  maxRequests: 64,
  maxExchanges: 1_000,
  maxWaiting: 10_000,
  requestTimeout: 30 * 60_000,
  askTimeout: 10 * 60_000,
  drainTimeout: 10_000,
  pageSize: 500,
})
const defaultParking: ParkingLimits = Object.freeze({ time: 10 * 60_000, max: 1_000, maxPerPrincipal: 16 })
const noParking: ParkingLimits = Object.freeze({ time: 0, max: 0, maxPerPrincipal: 0 })
const others = [
  'transport',
  'name',
  'initArg',
  'revisions',
  'store',
  'sessionIds',
  'start',
  'exposeErrors',
  'maxSessionsPerClient',
  'requestStateKeys',
  'parking',
]
const known = Object.freeze([...others, ...Object.keys(numbers)])
const storeMethods = ['load', 'save', 'delete'] as const

/** Checks the options of a server; throws BAD_DEFINITION, or BAD_OPTION that names the field. */
export function readServerOptions(definition: ServerDefinition, options: ServerOptions): ServerSettings {
  if (!isServer(definition)) {
    const problem = `expected what defineServer returns, got ${show(definition)}`
    throw new ServerError('BAD_DEFINITION', problem, { data: { field: 'definition' } })
  }
  if (!isObject(options)) throw bad('options', 'an object with a transport', options)
  for (const field of Object.keys(options)) {
    if (!known.includes(field)) throw bad(field, among('an option', known, field), field)
  }
  const { transport, name = definition.info.name, store, exposeErrors = false } = options
  if (!isObject(transport) || typeof transport.bind !== 'function')
    throw bad('transport', 'what serveHttp() or serveStdio() returns', transport)
  if (typeof name !== 'string' || name === '') throw bad('name', 'a non-empty string', name)
  if (store !== undefined && !storeMethods.every((method) => typeof store?.[method] === 'function'))
    throw bad('store', 'an object with load, save and delete', store)
  const { initArg } = options
  if (initArg !== undefined && definition.session?.init === undefined)
    throw bad('initArg', 'nothing, as the definition has no session.init to be given it', initArg)
  const revisions = readRevisions(definition, options.revisions)
  const { sessionIds, start } = options
  if (sessionIds !== undefined && !(sessionIds instanceof SealedIds))
    throw bad('sessionIds', 'what sealedIds() returns', sessionIds)
  if (start !== undefined && !isStart(start)) throw bad('start', 'true, false or a function', start)
  if (typeof exposeErrors !== 'boolean') throw bad('exposeErrors', 'true or false', exposeErrors)
  const { maxSessionsPerClient } = options
  if (maxSessionsPerClient !== undefined && !(isCount(maxSessionsPerClient) && maxSessionsPerClient > 0))
    throw bad('maxSessionsPerClient', 'a whole number above 0', maxSessionsPerClient)
  const { requestStateKeys: keys } = options
  const requestStates = keys === undefined ? undefined : sealRequestStates(keys)
  const parking = readParking(options.parking)
  const limits = { ...readNumbers(options), maxSessionsPerClient, requestStates, cursorKeys: keys, parking }
  const own = {
    definition,
    transport,
    name,
    initArg,
    revisions,
    names: namesOf(name),
    store,
    sessionIds,
    start,
    exposeErrors,
  }
  return Object.freeze({ ...own, ...limits })
}

/** Newest first, whatever the order in which they were given. */
function readRevisions(definition: ServerDefinition, given: unknown): readonly Revision[] {
  if (given === undefined) return needsSessions(definition) ? handshakeRevisions : allRevisions
  const expected = `an array with some of ${allRevisions.join(', ')}`
  if (!Array.isArray(given) || given.length === 0) throw bad('revisions', expected, given)
  const unknown = given.find((revision) => !allRevisions.includes(revision))
  if (unknown !== undefined) throw bad('revisions', expected, unknown)
  return Object.freeze(allRevisions.filter((revision) => given.includes(revision)))
}

function readNumbers(options: ServerOptions): typeof numbers {
  const read = { ...numbers } as Record<string, number>
  for (const field of Object.keys(numbers)) {
    const value: unknown = options[field as keyof typeof numbers]
    if (value === undefined) continue
    const isTime = field.endsWith('Timeout')
    const least = field === 'drainTimeout' ? 0 : Number.MIN_VALUE
    if (!(typeof value === 'number' && value >= least))
      throw bad(field, `a number ${least === 0 ? 'of 0 or more' : 'above 0'}`, value)
    if (!isTime && !isCount(value)) throw bad(field, 'a whole number above 0', value)
    read[field] = value
  }
  return read as unknown as typeof numbers
}

/** Checks the option `parking`; false is no room at all. Throws BAD_OPTION. */
export function readParking(option: unknown): ParkingLimits {
  if (option === undefined || option === true) return defaultParking
  if (option === false) return noParking
  if (!isObject(option)) throw bad('parking', 'true, false or an object', option)
  const limits: Record<string, unknown> = { ...defaultParking }
  for (const [field, value] of Object.entries(option)) {
    if (!Object.hasOwn(defaultParking, field))
      throw bad(`parking.${field}`, among('an option', Object.keys(defaultParking), field), field)
    if (value === undefined) continue
    if (!(typeof value === 'number' && value > 0)) throw bad(`parking.${field}`, 'a number above 0', value)
    if (field !== 'time' && !isCount(value)) throw bad(`parking.${field}`, 'a whole number above 0', value)
    limits[field] = value
  }
  return Object.freeze(limits) as unknown as ParkingLimits
}

/** Takes what belongs to the tree apart from what belongs to the server. */
export function splitServerOptions(options: ServerOptions & TreeWideOptions): {
  own: ServerOptions
  treeWide: Omit<TreeWideOptions, 'signals'>
  signals: boolean
} {
  if (!isObject(options)) throw bad('options', 'an object with a transport', options)
  const {
    clock,
    registry,
    unowned,
    logger,
    logLevels,
    signals = true,
    ...own
  } = options as ServerOptions & TreeWideOptions
  if (typeof signals !== 'boolean') throw bad('signals', 'true or false', signals)
  const treeWide: { -readonly [K in keyof Omit<TreeWideOptions, 'signals'>]: TreeWideOptions[K] } = {
    logger,
    logLevels,
  }
  if (clock !== undefined) treeWide.clock = clock
  if (registry !== undefined) treeWide.registry = registry
  if (unowned !== undefined) treeWide.unowned = unowned
  return { own, treeWide, signals }
}

function bad(field: string, expected: string, got: unknown): ServerError {
  return optionError(field, `${field}: expected ${expected}, got ${show(got)}`)
}

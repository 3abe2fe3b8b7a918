import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { Lazy } from '../../runtime/faults/load.js'
import { optionError, type ServerError } from '../base/errors.js'
import type { TokenExchangeOptions } from '../../transports/auth/token-exchange.js'
import { isSecureUrl } from '../../transports/base/secure-url.js'
import type { Principal } from '../../transports/contract/principal.js'
import { type DefinitionReaders, definitionReaders } from './definition.js'
import { readScopes } from './component.js'
import type { PinMode, Pins } from './pins.js'
import type { Seat, StartedUpstream, StartUpstream, Upstream, Upstreams } from './upstreams.js'

/** When calls are refused for a while, as those before them came to nothing. */
export interface BreakerOptions {
  /** Calls in a row that came to nothing, until it opens. Default 5. */
  readonly failures?: number
  /** Milliseconds until one call may try; each try that fails doubles them, up to `maxPause`. Default 5,000. */
  readonly pause?: number
  /** Milliseconds. Default 60,000. */
  readonly maxPause?: number
}

/** What one server behind a gateway is spared. */
export interface UpstreamLimits {
  /**
   * Calls that it works on at once; one that its caller has cancelled, or that is over its time, counts no more.
   * Default: as many as its client takes.
   */
  readonly maxCalls?: number
  /**
   * Calls of one caller that it works on at once: a principal, or else an address (IPv6: a /64; on this
   * machine a session). Default: three quarters of `maxCalls`, and without that 48; for those of this machine
   * without a principal all of them.
   */
  readonly maxCallsPerCaller?: number
  /** Calls of one tool that it works on at once, by the name that the server gives it. */
  readonly maxCallsPerTool?: Readonly<Record<string, number>>
  /**
   * Whether, and when, it is left alone after failures: each tool, prompt, resource and template by itself, by
   * callers who saw one fail. Default `{}`.
   */
  readonly breaker?: BreakerOptions | false
}

/** What a gateway offers of one server, and what it spares it. */
export interface UpstreamOptions extends UpstreamLimits {
  /**
   * What is offered, and nothing else: names of tools and prompts, uris and templates, as the server gives
   * them; `*` stands for anything. What a template offers may be read through it; any other uri has to be
   * allowed in each way that the server may read it. Default all.
   */
  readonly allow?: readonly string[]
  /**
   * What is not, of that: a uri however it is written, in either case, and a template with all that fits it.
   * Default none.
   */
  readonly deny?: readonly string[]
  /** Other names, by the names that the server gives; without its own name before them. */
  readonly rename?: Readonly<Record<string, string>>
  /**
   * Scopes that the principal of a caller needs, to see or use anything of it, or to be told its instructions.
   * Default none.
   */
  readonly scopes?: readonly string[]
  /**
   * Whether a caller may see and use a tool, a prompt or a resource, by the name, uri or template that the
   * server gives it; the principal is undefined for an anonymous caller. For a uri in no list it is asked
   * with the uri as it is written, in each way that the server may read it (percent-decoded, without `..`,
   * user, port, query ...), and with the templates that fit: all have to be a yes. Asked at each list and
   * each use, so it has to be quick; one that throws says no. A subscription is a use when it begins, and at
   * each change that is told; values that the server suggests for a template are not judged. Default:
   * everybody with the `scopes`.
   */
  readonly permits?: (principal: Principal | undefined, name: string) => boolean
  /** Milliseconds that a call may take. Default: as for other servers (`timeouts.request`), and its client. */
  readonly timeout?: number
  /** Whether what it offers stays in lists while it cannot be reached. Default `keep`. */
  readonly whileAway?: 'keep' | 'hide'
  /** Whether its definitions are pinned. Default: as `pin` of the gateway says. */
  readonly pin?: PinMode
}

/** What `gateway` takes. */
export interface GatewayOptions {
  /** What the gateway calls itself. Default `gateway`. */
  readonly name?: string
  /** Default `1.0.0`. */
  readonly version?: string
  readonly title?: string
  /** Comes before what the servers say of their use. */
  readonly instructions?: string
  /** Between the name of a server and that of its tool or prompt. Default `__`. */
  readonly separator?: string
  /** Whether names begin with that of their server. Default true; false for one server, or names that differ. */
  readonly prefix?: boolean
  /**
   * What is different for some servers, by name. Each has to be there when the gateway begins. Names of tools and
   * addresses that a server turns out not to have are warned of.
   */
  readonly servers?: Readonly<Record<string, UpstreamOptions>>
  /**
   * Offers two tools, `search_tools` and `call_tool`, in place of all; `pinned` are listed beside them (`*` stands
   * for anything). Default false.
   */
  readonly toolSearch?: boolean | { readonly pinned?: readonly string[] }
  /**
   * Whether definitions of the servers (tools, prompts, resources, templates, instructions) are remembered
   * when they are seen first. One that changes is held back: it is not offered, and its calls are refused,
   * until the change is accepted, or taken back. So is one that is new and has characters that nobody sees;
   * with `strict`, each one that is new. Default false.
   */
  readonly pin?: PinMode
  /** Where they are remembered. Default: in memory, as long as the server runs. */
  readonly pins?: Pins
  /**
   * Milliseconds that a start, and lists that are asked for meanwhile, wait for what the servers have; those
   * that take longer come into the lists later. Nothing else waits. Default 3,000.
   */
  readonly startTimeout?: number
  /**
   * The origin at which browsers reach the gateway, such as `https://mcp.example.com`, for sign-ins at
   * servers behind it. Default: that of `auth.resource` of its listener, or of the address where it listens.
   */
  readonly origin?: string
}

/** Servers behind a gateway: clients that run, functions that start them, or a set of them. */
export type UpstreamSource =
  | Upstreams
  | Readonly<Record<string, Upstream | StartUpstream | StartedUpstream>>
  | ((seat: Seat) => Upstreams | Promise<Upstreams>)

/** A checked gateway: data, for any number of running servers. */
export interface GatewayPlan {
  readonly source: UpstreamSource
  readonly separator: string
  readonly prefix: boolean
  readonly servers: ReadonlyMap<string, UpstreamOptions>
  readonly pinned: readonly string[] | undefined
  readonly startTimeout: number
  readonly origin: string | undefined
  readonly pin: PinMode
  readonly pins: Pins | undefined
  readonly modules: GatewayModules
}

/** What logins of users need, which a program without a gateway has not in its bundle. */
export interface GatewayModules {
  readonly logins: Lazy<typeof import('../../transports/authorization/upstream-logins.js')>
  readonly exchange: Lazy<typeof import('../../transports/auth/token-exchange.js')>
}

const fields = new Set([
  ...['name', 'version', 'title', 'instructions', 'separator', 'prefix', 'servers', 'toolSearch'],
  ...['startTimeout', 'origin', 'pin', 'pins'],
])
const serverFields = new Set([
  ...['allow', 'deny', 'rename', 'scopes', 'permits', 'timeout', 'whileAway', 'pin'],
  ...['maxCalls', 'maxCallsPerCaller', 'maxCallsPerTool', 'breaker'],
])

/** Throws BAD_DEFINITION, naming the field, and BAD_OPTION for options of a server that there is not. */
export function readGateway(source: UpstreamSource, options: GatewayOptions): Omit<GatewayPlan, 'modules'> {
  const read = definitionReaders('gateway')
  read.checkFields(read.readObject(options, 'options'), fields)
  const { separator = '__', toolSearch = false } = options
  if (typeof separator !== 'string' || !/^[\w.-]{1,8}$/.test(separator))
    throw read.bad('separator', '1 to 8 letters, digits, _, - and .', separator)
  const servers = readServers(read, options.servers)
  const clients = readSource(read, source)
  const problem = unknownServer(servers, namesOf(clients))
  if (problem !== undefined) throw problem
  return Object.freeze({
    source: clients,
    separator,
    prefix: read.readFlag(options.prefix, 'prefix', true),
    servers,
    pinned: readPinned(read, toolSearch),
    startTimeout: read.readMs(options.startTimeout, 'startTimeout', 3_000),
    origin: readOrigin(read, options.origin),
    pin: readPin(read, options.pin) ?? false,
    pins: readPins(read, options.pins),
  })
}

function readOrigin({ bad }: DefinitionReaders, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const isOrigin = typeof value === 'string' && isSecureUrl(value) && new URL(value).origin === value
  if (!isOrigin) throw bad('origin', 'an https origin without a path', value)
  return value
}

/** The error for options of a server that there is not: a misspelled name would leave its server without them. */
export function unknownServer(
  servers: GatewayPlan['servers'],
  names: readonly string[] | undefined,
): ServerError | undefined {
  const unknown = [...servers.keys()].find((name) => names?.includes(name) === false)
  if (names === undefined || unknown === undefined) return undefined
  const field = `servers.${unknown}`
  const expected = among('the name of a server', names, unknown)
  return optionError(field, `gateway: ${field}: expected ${expected}, got ${show(unknown)}`)
}

/** Undefined for a set that is not there yet. */
function namesOf(source: UpstreamSource): readonly string[] | undefined {
  if (typeof source === 'function') return undefined
  return isUpstreams(source) ? source.names : Object.keys(source)
}

export function isUpstream(value: unknown): value is Upstream {
  const { request, onState } = (value ?? {}) as Record<string, unknown>
  return typeof request === 'function' && typeof onState === 'function'
}

export function isUpstreams(value: unknown): value is Upstreams {
  const { get, has, onState } = (value ?? {}) as Record<string, unknown>
  return [get, has, onState].every((each) => typeof each === 'function')
}

function readSource({ bad }: DefinitionReaders, source: UpstreamSource): UpstreamSource {
  if (typeof source === 'function' || isUpstreams(source)) return source
  if (!isObject(source) || isUpstream(source) || isPromise(source))
    throw bad('clients', 'clients by the names of their servers, or what startClients returns', source)
  for (const [name, entry] of Object.entries(source)) {
    const field = `clients.${name}`
    if (name === '') throw bad('clients', 'names of servers as keys', name)
    if (typeof entry === 'function' || isUpstream(entry)) continue
    if (!isObject(entry) || typeof entry.start !== 'function')
      throw bad(field, `a client, a function that starts one, or { start }${hintFor(entry)}`, entry)
    readStarted(field, entry)
  }
  return source
}

function hintFor(entry: unknown): string {
  const isDefinition = isObject(entry) && entry.kind === 'server'
  return isDefinition
    ? ' (of a definition: a client of it over memory(); or defineServer({ tools: [...a.tools, ...b.tools] }))'
    : ''
}

/** Throws BAD_DEFINITION, naming the field. */
export function readStarted(field: string, entry: object): void {
  const read = definitionReaders(`gateway: ${field}`)
  read.checkFields(entry, new Set(['start', 'per', 'max', 'lazy', 'idle', 'options', 'auth', 'lists']))
  const { per = 'gateway', max = 1, lazy, idle = 0, options, auth, lists } = entry as StartedUpstream
  if (options !== undefined) readServer(`${field}.options`, options)
  read.readWord(per, 'per', ['gateway', 'session', 'principal'])
  read.readCount(max, 'max')
  read.readFlag(lazy, 'lazy', false)
  if (idle !== 0) read.readMs(idle, 'idle')
  read.readWord(lists ?? 'own', 'lists', ['own', 'shared'])
  if (auth === undefined) return
  if (per !== 'principal') throw read.bad('per', "'principal' with auth: each has a login of its own", per)
  if (auth !== 'oauth') readExchange(field, read, auth)
}

function readExchange(
  field: string,
  { readObject, bad, checkFields }: DefinitionReaders,
  auth: unknown,
): void {
  if (!isObject(auth)) throw bad('auth', "'oauth' or { exchange }", auth)
  checkFields(auth, new Set(['exchange']))
  const read = definitionReaders(`gateway: ${field}.auth.exchange`)
  const given = readObject(auth.exchange, 'auth.exchange') as Partial<TokenExchangeOptions>
  read.checkFields(given, new Set(['issuer', 'tokenUrl', 'client', 'audience', 'resource', 'scopes']))
  const { issuer, tokenUrl, client, audience, resource } = given
  if ((issuer === undefined) === (tokenUrl === undefined))
    throw read.bad('issuer', 'either issuer or tokenUrl', issuer)
  for (const [name, url] of Object.entries({ issuer, tokenUrl }))
    if (url !== undefined && !isSecureUrl(String(url))) throw read.bad(name, 'an https address', url)
  const { id, secret } = read.readObject(client, 'client')
  read.readText(id, 'client.id')
  // a secret is never shown
  if (typeof secret !== 'string' || secret === '') throw read.bad('client.secret', 'a text', typeof secret)
  for (const [name, text] of Object.entries({ audience, resource }))
    if (text !== undefined) read.readText(text, name)
  readScopes(read, given.scopes)
}

function readServers(read: DefinitionReaders, value: unknown): GatewayPlan['servers'] {
  const servers = value === undefined ? {} : read.readObject(value, 'servers')
  return new Map(
    Object.entries(servers).map(([name, options]) => [name, readServer(`servers.${name}`, options)]),
  )
}

function readServer(field: string, value: unknown): UpstreamOptions {
  const read = definitionReaders(`gateway: ${field}`)
  const given = read.readObject(value, 'options') as UpstreamOptions
  read.checkFields(given, serverFields)
  const { allow, deny, rename = {}, maxCalls, maxCallsPerCaller, maxCallsPerTool = {}, breaker } = given
  for (const [key, patterns] of Object.entries({ allow, deny }))
    if (patterns !== undefined) readPatterns(read, key, patterns)
  for (const [name, other] of Object.entries(read.readObject(rename, 'rename')))
    if (typeof other !== 'string' || !/^[\w.-]{1,64}$/.test(other))
      throw read.bad(`rename.${name}`, '1 to 64 letters, digits, _, - and .', other)
  readScopes(read, given.scopes)
  if (given.permits !== undefined) read.readFunction(given.permits, 'permits')
  read.readTimeout(given.timeout)
  read.readWord(given.whileAway ?? 'keep', 'whileAway', ['keep', 'hide'])
  readPin(read, given.pin)
  for (const [key, count] of Object.entries({ maxCalls, maxCallsPerCaller }))
    if (count !== undefined) read.readCount(count, key)
  for (const [name, count] of Object.entries(read.readObject(maxCallsPerTool, 'maxCallsPerTool')))
    read.readCount(count, `maxCallsPerTool.${name}`)
  if (breaker !== undefined && breaker !== false) readBreaker(field, read.readObject(breaker, 'breaker'))
  return Object.freeze({ ...given })
}

function readBreaker(field: string, options: BreakerOptions): void {
  const read = definitionReaders(`gateway: ${field}.breaker`)
  read.checkFields(options, new Set(['failures', 'pause', 'maxPause']))
  if (options.failures !== undefined) read.readCount(options.failures, 'failures')
  if (options.pause !== undefined) read.readMs(options.pause, 'pause')
  if (options.maxPause !== undefined) read.readMs(options.maxPause, 'maxPause')
}

function readPin({ bad }: DefinitionReaders, value: unknown): PinMode | undefined {
  if (value === undefined || typeof value === 'boolean' || value === 'strict') return value
  throw bad('pin', 'true, false or strict', value)
}

function readPins({ bad }: DefinitionReaders, value: unknown): Pins | undefined {
  if (value === undefined) return undefined
  const { of, add, onChange } = isObject(value) ? value : {}
  if ([of, add, onChange].every((each) => typeof each === 'function')) return value as Pins
  throw bad('pins', 'an object with of, add and onChange', value)
}

function readPinned(read: DefinitionReaders, value: unknown): readonly string[] | undefined {
  if (value === false) return undefined
  if (value === true) return []
  const given = read.readObject(value, 'toolSearch')
  definitionReaders('gateway: toolSearch').checkFields(given, new Set(['pinned']))
  return given.pinned === undefined ? [] : readPatterns(read, 'toolSearch.pinned', given.pinned)
}

function readPatterns({ bad }: DefinitionReaders, field: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '')) return value
  throw bad(field, 'an array of names', value)
}

import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { Audit, GatewayOptions, StartedUpstream } from 'caduceus/server'
import type { OwnServer } from 'caduceus/transports'
import { isObject } from '../../protocol/wire/json.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { optionReaders } from '../../runtime/base/read-options.js'
import { readGateway, readStarted } from '../../server/definitions/gateway-options.js'
import type { LogLevel } from '../../runtime/faults/log.js'
import { UsageError } from '../base/usage-error.js'
import { checked } from '../connection/target.js'
import type { FoundServer } from '../hosts/host-files.js'
import { fieldAt, parseJsonc, type Places } from '../hosts/jsonc.js'
import type { AuditFileOptions } from './audit-file.js'
import { overlaid, type Overrides } from './settings.js'
import { readTeamSignIn, type TeamReaders, type Wrong } from './team-sign-in.js'

/** How one server of the file is served, besides how it is reached. */
export interface TeamMember extends Omit<StartedUpstream, 'start'> {
  /** What `auth: { oauth }` says of the client at its authorization server. */
  readonly oauth?: MemberOAuth
}

/** How the gateway is known where users of a server sign in. */
interface MemberOAuth {
  readonly client?: { readonly id: string; readonly secret?: string; readonly issuer?: string }
  readonly clientMetadataUrl?: string
  readonly scope?: string
}

/** Who comes with a token. */
export interface TokenOwner {
  readonly name: string
  readonly scopes: readonly string[]
}

/** What the section `caduceus` of a host's file says. */
export interface TeamFile {
  /** What all servers look like as one. */
  readonly gateway: GatewayOptions
  readonly listen: TeamListening
  readonly engine: { readonly files: string } | RedisEngine | undefined
  readonly rate: { readonly calls: number; readonly per: 'second' | 'minute' | 'hour' } | undefined
  /** The port of the page that shows the processes. */
  readonly observe: number | undefined
  /** Milliseconds without a call after which servers end that say nothing else. */
  readonly idle: number | undefined
  /** A port for `/metrics` alone. */
  readonly metrics: { readonly port: number; readonly host?: string } | undefined
  readonly log: { readonly level?: LogLevel; readonly format?: 'text' | 'json' } | undefined
  /** By digests of tokens; undefined: whoever reaches the address may come in. */
  readonly tokens: ReadonlyMap<string, TokenOwner> | undefined
  /** How users sign in, in place of tokens; undefined: they do not. */
  readonly signIn: { readonly text: string; readonly server: OwnServer } | undefined
  readonly servers: ReadonlyMap<string, TeamMember>
  readonly audit: TeamAudit | undefined
}

/** What is written of calls, and where. */
export interface TeamAudit extends Partial<Omit<AuditFileOptions, 'file'>>, Omit<Audit, 'write'> {
  /** Undefined: as the command line says. */
  readonly file?: string
}

/** A Redis, and what is kept there is signed with. */
interface RedisEngine {
  readonly redis: string
  readonly keys?: readonly string[]
}

interface TeamListening {
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly allowedHosts?: readonly string[]
  readonly allowedOrigins?: readonly string[]
  readonly trustProxy?: boolean | number
  readonly health?: boolean
  /** Milliseconds that it is served on after it is told to stop. */
  readonly drainDelay?: number
  readonly metrics?: boolean
  /** The files of the certificate and its key. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Replaces the variables of a part of the file. */
type Fill = (part: FoundServer) => Promise<FoundServer['entry']>

const gatewayFields = [
  ...['name', 'title', 'instructions', 'separator', 'prefix', 'toolSearch', 'startTimeout', 'pin'],
  'origin',
] as const
const fields = [
  ...gatewayFields,
  'listen',
  'engine',
  'rate',
  'observe',
  'idle',
  'metrics',
  'log',
  'audit',
  'tokens',
  'signIn',
  'servers',
] as const
const listenFields = [
  ...[
    'host',
    'port',
    'path',
    'allowedHosts',
    'allowedOrigins',
    'trustProxy',
    'health',
    'drainDelay',
    'metrics',
  ],
  'tls',
] as const
/** Characters that a token has at least: a shorter one may be guessed. */
const shortestToken = 16
/** As `redis()` has it. */
const shortestKey = 32

/**
 * Reads the section `caduceus` of a host's file, which hosts leave alone. `names` are those of its servers.
 * `overrides` come before it. Rejects with UsageError, with the line and column of what is wrong.
 */
export async function readTeamFile(
  file: string,
  text: string,
  names: readonly string[],
  fill: Fill,
  overrides: Overrides = new Map(),
): Promise<TeamFile> {
  const places: Places = new WeakMap()
  const whole = parseJsonc(text, file, undefined, places)
  const given = isObject(whole) ? whole.caduceus : undefined
  // left alone, as sections of others are, it would let in everybody
  const misspelt = Object.keys(whole as object).find((name) => didYouMean(name, ['caduceus']) !== '')
  if (misspelt !== undefined && misspelt !== 'caduceus')
    throw new UsageError(`${file} has a section ${show(misspelt)}${didYouMean(misspelt, ['caduceus'])}`)
  const wrong = (field: string, problem: string): UsageError => {
    // `engine.keys` may come from somewhere else than `engine`
    const given = [...overrides].findLast(([name]) => field === name || field.startsWith(`${name}.`))
    if (given !== undefined) return new UsageError(`${given[1].from}: ${problem.replace(/^[\w.]+: /, '')}`)
    const at = placeOf(whole, field === '' ? 'caduceus' : `caduceus.${field}`, places)
    const lines = text.slice(0, at).split('\n')
    return new UsageError(
      `${file}:${lines.length}:${(lines.at(-1) ?? '').length + 1}: caduceus.${problem}; mend the file`,
    )
  }
  const readers = optionReaders(wrong)
  if (given !== undefined && !isObject(given))
    throw new UsageError(`${file}: caduceus: expected an object, got ${show(given)}`)
  readers.readFields(given ?? {}, 'caduceus', fields)
  const filled = await fill({
    ...{ name: 'caduceus', file, folder: dirname(file), entry: given ?? {} },
    ...{ isDisabled: false, inputs: new Map() },
  })
  const section = overlaid(filled, overrides)
  const { listen, engine, rate, observe, idle, metrics, log, tokens, signIn, servers = {}, audit } = section
  if (signIn !== undefined && tokens !== undefined)
    throw wrong('signIn', 'signIn: expected signIn or tokens, not both')
  // in memory all would have to sign in again after each start
  if (signIn !== undefined && engine === undefined)
    throw wrong(
      'signIn',
      'signIn: expected an engine beside it, where logins are kept: { "files": "FOLDER" }',
    )
  return {
    gateway: readTeam(section, wrong),
    listen: listen === undefined ? {} : readListen(listen, readers),
    engine: engine === undefined ? undefined : readEngine(engine, readers),
    rate: rate === undefined ? undefined : readRate(rate, readers),
    observe: observe === undefined ? undefined : readPort(observe, 'observe', readers),
    idle: idle === undefined ? undefined : readIdle(idle, readers),
    metrics: metrics === undefined ? undefined : readMetrics(metrics, readers),
    log: log === undefined ? undefined : readLog(log, readers),
    tokens: tokens === undefined ? undefined : readTokens(tokens, readers),
    signIn:
      signIn === undefined
        ? undefined
        : { text: JSON.stringify(signIn), server: readTeamSignIn(signIn, readers, wrong) },
    servers: readServers(servers, names, wrong, readers),
    audit: audit === undefined ? undefined : readAudit(audit, readers),
  }
}

/** After how many characters a field stands; of one that is not there, the one that it would be in. */
function placeOf(whole: unknown, path: string, places: Places): number {
  let [value, rest, at] = [whole, path, 0]
  while (rest !== '' && isObject(value)) {
    // names of servers may have dots
    const key = Object.keys(value).find((one) => rest === one || rest.startsWith(`${one}.`))
    if (key === undefined) return at
    at = fieldAt(places, value, key)?.at ?? at
    value = value[key]
    rest = rest.slice(key.length + 1)
  }
  return at
}

function readTeam(section: FoundServer['entry'], wrong: Wrong): GatewayOptions {
  const own = Object.fromEntries(
    gatewayFields.flatMap((field) => (section[field] === undefined ? [] : [[field, section[field]]])),
  )
  const options: GatewayOptions = { name: 'caduceus', ...own }
  try {
    readGateway({}, options)
  } catch (error) {
    throw told(error, '', ['gateway: '], wrong)
  }
  for (const field of ['name', 'title', 'instructions'] as const)
    if (options[field] !== undefined && (typeof options[field] !== 'string' || options[field] === ''))
      throw wrong(field, `${field}: expected a text, got ${show(options[field])}`)
  return options
}

function readListen(value: unknown, readers: TeamReaders): TeamListening {
  const { readFields, readText, readFlag, badOption } = readers
  const given = readFields(value, 'listen', listenFields, 'listen.')
  const list = (name: string): readonly string[] | undefined => {
    const all = given[name]
    if (all === undefined) return undefined
    if (Array.isArray(all) && all.length > 0 && all.every((one) => typeof one === 'string' && one !== ''))
      return all as string[]
    throw badOption(`listen.${name}`, 'an array of texts', all)
  }
  const { host, port, path, trustProxy, health, drainDelay, metrics, tls } = given
  const isProxy = typeof trustProxy === 'boolean' || (Number.isInteger(trustProxy) && Number(trustProxy) > 0)
  if (trustProxy !== undefined && !isProxy)
    throw badOption('listen.trustProxy', 'true, false, or how many proxies there are', trustProxy)
  const [allowedHosts, allowedOrigins] = [list('allowedHosts'), list('allowedOrigins')]
  return {
    ...(host !== undefined && { host: readText(host, 'listen.host') }),
    ...(port !== undefined && { port: readPort(port, 'listen.port', readers) }),
    ...(path !== undefined && { path: readText(path, 'listen.path') }),
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    ...(trustProxy !== undefined && { trustProxy: trustProxy as boolean | number }),
    ...(health !== undefined && { health: readFlag(health, 'listen.health') }),
    ...(drainDelay !== undefined && { drainDelay: readDelay(drainDelay, readers) }),
    ...(metrics !== undefined && { metrics: readFlag(metrics, 'listen.metrics') }),
    ...(tls !== undefined && { tls: readTls(tls, readers) }),
  }
}

/** Calls in flight have as long at most, and it is of the same time. */
const longestDelay = 10_000

function readDelay(value: unknown, { badOption }: TeamReaders): number {
  if (typeof value === 'number' && value >= 0 && value <= longestDelay) return value
  throw badOption('listen.drainDelay', `milliseconds, ${longestDelay} at most`, value)
}

function readTls(value: unknown, { readFields, readText }: TeamReaders) {
  const { cert, key } = readFields(value, 'listen.tls', ['cert', 'key'], 'listen.tls.')
  return { cert: readText(cert, 'listen.tls.cert'), key: readText(key, 'listen.tls.key') }
}

function readEngine(value: unknown, { readFields, readText, badOption }: TeamReaders): TeamFile['engine'] {
  const { files, redis, keys } = readFields(value, 'engine', ['files', 'redis', 'keys'], 'engine.')
  if (keys !== undefined && files === undefined && redis === undefined)
    throw badOption('engine.keys', '{ "redis": "redis://..." } beside it')
  // what was given is not shown: it may have a password, and keys
  if ((files === undefined) === (redis === undefined))
    throw badOption('engine', '{ "files": "FOLDER" } or { "redis": "redis://..." }')
  if (files === undefined)
    return {
      redis: readText(redis, 'engine.redis'),
      ...(keys !== undefined && { keys: readKeys(keys, badOption) }),
    }
  if (keys !== undefined) throw badOption('engine.keys', 'none: they are for { "redis": "redis://..." }')
  return { files: readText(files, 'engine.files') }
}

function readKeys(value: unknown, badOption: TeamReaders['badOption']): readonly string[] {
  const isFit = (key: unknown): key is string => typeof key === 'string' && key.length >= shortestKey
  if (Array.isArray(value) && value.length > 0 && value.every(isFit)) return value
  throw badOption(
    'engine.keys',
    `an array of texts of ${shortestKey} characters or more, the first of which signs`,
  )
}

function readRate(value: unknown, { readFields, readCount, readWord }: TeamReaders) {
  const { calls, per } = readFields(value, 'rate', ['calls', 'per'], 'rate.')
  return {
    calls: readCount(calls, 'rate.calls'),
    per: readWord(per, 'rate.per', ['second', 'minute', 'hour']),
  }
}

function readIdle(value: unknown, { badOption }: TeamReaders): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw badOption('idle', 'milliseconds; 0: they stay', value)
}

function readMetrics(value: unknown, readers: TeamReaders): NonNullable<TeamFile['metrics']> {
  const { port, host } = readers.readFields(value, 'metrics', ['port', 'host'], 'metrics.')
  const taken = readPort(port, 'metrics.port', readers)
  if (taken === 0) throw readers.badOption('metrics.port', 'a port from 1 to 65535', port)
  return {
    port: taken,
    ...(host !== undefined && { host: readers.readText(host, 'metrics.host') }),
  }
}

function readLog(value: unknown, { readFields, readWord }: TeamReaders): NonNullable<TeamFile['log']> {
  const { level, format } = readFields(value, 'log', ['level', 'format'], 'log.')
  return {
    ...(level !== undefined && {
      level: readWord(level, 'log.level', ['debug', 'info', 'warn', 'error', 'silent']),
    }),
    ...(format !== undefined && { format: readWord(format, 'log.format', ['text', 'json']) }),
  }
}

const auditFields = [
  ...(['file', 'arguments', 'results', 'onFailure', 'sync', 'maxBytes', 'maxFiles'] as const),
] as const

/** The name of the file alone, or all options. */
function readAudit(value: unknown, readers: TeamReaders): TeamAudit {
  const { readFields, readText, readFlag, readWord, readCount } = readers
  if (typeof value === 'string') return { file: readText(value, 'audit') }
  const given = readFields(value, 'audit', auditFields, 'audit.')
  const { file, onFailure, maxBytes, maxFiles } = given
  const flags = (['arguments', 'results', 'sync'] as const).flatMap((name) =>
    given[name] === undefined ? [] : [[name, readFlag(given[name], `audit.${name}`)]],
  )
  return {
    ...Object.fromEntries(flags),
    ...(file !== undefined && { file: readText(file, 'audit.file') }),
    ...(onFailure !== undefined && {
      onFailure: readWord(onFailure, 'audit.onFailure', ['refuse', 'tell']),
    }),
    ...(maxBytes !== undefined && { maxBytes: readCount(maxBytes, 'audit.maxBytes') }),
    ...(maxFiles !== undefined && { maxFiles: readCount(maxFiles, 'audit.maxFiles') }),
  }
}

/** A number, also as the text that a variable gives. */
function readPort(value: unknown, field: string, { badOption }: TeamReaders): number {
  const port = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
  if (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535) return Number(port)
  throw badOption(field, 'a port from 0 to 65535', value)
}

/** By digests of tokens. Errors say no token. */
function readTokens(value: unknown, readers: TeamReaders): ReadonlyMap<string, TokenOwner> {
  const { readObject, readFields, badOption } = readers
  const owners = new Map<string, TokenOwner>()
  for (const [name, given] of Object.entries(readObject(value, 'tokens'))) {
    const field = `tokens.${name}`
    const one = typeof given === 'string' ? { token: given } : given
    const { token, scopes = [] } = readFields(one, field, ['token', 'scopes'], `${field}.`)
    if (typeof token !== 'string' || token.length < shortestToken || !/^[\x21-\x7e]+$/.test(token))
      throw badOption(field, `a token of ${shortestToken} printable characters or more, without spaces`)
    if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string' && scope !== ''))
      throw badOption(`${field}.scopes`, 'an array of scopes', scopes)
    const key = digestOf(token)
    const other = owners.get(key)?.name
    if (other !== undefined) throw badOption(field, `another token than that of ${other}`)
    owners.set(key, { name, scopes })
  }
  return owners
}

/** What a token is looked up by: how long that takes says nothing of it. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

function readServers(
  value: unknown,
  names: readonly string[],
  wrong: Wrong,
  readers: TeamReaders,
): ReadonlyMap<string, TeamMember> {
  const { readObject, readFields } = readers
  const all = readFields(value, 'servers', names, 'servers.')
  return new Map(
    Object.entries(all).map(([name, given]) => {
      const field = `servers.${name}`
      const { per, max, lazy, idle, auth, lists, ...options } = readObject(given, field)
      const oauth = isObject(auth) && 'oauth' in auth ? readOAuth(auth, `${field}.auth`, readers) : undefined
      const login = oauth === undefined ? auth : 'oauth'
      const own = Object.entries({ per, max, lazy, idle, auth: login, lists }).filter(
        ([, each]) => each !== undefined,
      )
      const member = { ...Object.fromEntries(own), options } as TeamMember
      const whole = { ...member, ...(oauth !== undefined && { oauth }) }
      if (options.permits !== undefined)
        throw wrong(
          `${field}.permits`,
          `${field}.permits: a file has no functions: use scopes, allow and deny`,
        )
      try {
        readStarted(field, { ...member, start: () => {} })
      } catch (error) {
        throw told(
          error,
          field,
          [
            `gateway: ${field}.auth.exchange: `,
            `gateway: ${field}.options.breaker: `,
            `gateway: ${field}.options: `,
            `gateway: ${field}: `,
          ],
          wrong,
        )
      }
      return [name, whole]
    }),
  )
}

/** Throws UsageError for a login at a server that is no address. */
export function checkLogin(name: string, entry: FoundServer['entry'], member?: TeamMember): void {
  if (member?.auth === undefined) return
  const isRemote = entry.openapi === undefined && checked(entry).url !== undefined
  if (!isRemote) throw new UsageError(`caduceus.servers.${name}.auth: expected a server with a url`)
}

/** The client, scopes and address of a document of `auth: { oauth }`. Errors say no secret. */
function readOAuth(
  auth: object,
  field: string,
  { readFields, readText, badOption }: TeamReaders,
): MemberOAuth {
  const whole = readFields(auth, field, ['oauth'], `${field}.`)
  const at = `${field}.oauth`
  const given = readFields(whole.oauth, at, ['client', 'clientMetadataUrl', 'scopes'], `${at}.`)
  const { client, clientMetadataUrl, scopes } = given
  const known =
    client === undefined ? undefined : readFields(client, `${at}.client`, clientFields, `${at}.client.`)
  if (known !== undefined) {
    readText(known.id, `${at}.client.id`)
    if (known.secret !== undefined && (typeof known.secret !== 'string' || known.secret === ''))
      throw badOption(`${at}.client.secret`, 'a text', typeof known.secret)
    if (known.secret !== undefined || known.issuer !== undefined)
      readText(known.issuer, `${at}.client.issuer`)
  }
  const isList = Array.isArray(scopes) && scopes.every((one) => typeof one === 'string' && one !== '')
  if (scopes !== undefined && !isList) throw badOption(`${at}.scopes`, 'an array of scopes', scopes)
  return {
    ...(known !== undefined && { client: known as unknown as NonNullable<MemberOAuth['client']> }),
    ...(clientMetadataUrl !== undefined && {
      clientMetadataUrl: readText(clientMetadataUrl, `${at}.clientMetadataUrl`),
    }),
    ...(isList && scopes.length > 0 && { scope: scopes.join(' ') }),
  }
}

const clientFields = ['id', 'secret', 'issuer'] as const

/** The error for a part of the file of one that a definition would have. */
function told(error: unknown, field: string, about: readonly string[], wrong: Wrong): UsageError {
  const data = (error as { readonly data?: { readonly field?: unknown } }).data
  const message = messageOf(error)
  const start = about.find((each) => message.startsWith(each)) ?? ''
  const inner = typeof data?.field === 'string' ? data.field : ''
  const part = start.includes('.breaker: ')
    ? 'breaker.'
    : start.includes('.exchange: ')
      ? 'auth.exchange.'
      : ''
  const within = `${part}${inner}`
  const path = [field, within].filter((part) => part !== '').join('.')
  const problem = message.slice(start.length)
  return wrong(path, field === '' ? problem : `${field}.${part}${problem}`)
}

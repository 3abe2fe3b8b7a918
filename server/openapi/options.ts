import { isObject } from '../../protocol/wire/json.js'
import { orElse, type Read } from '../../runtime/base/read-options.js'
import type { Clock } from '../../runtime/time/clock.js'
import { readWorld } from '../../runtime/time/world.js'
import { readersOf } from '../base/read-options.js'
import type { ToolContext } from '../context/context.js'
import type { BreakerOptions, UpstreamLimits } from '../definitions/gateway-options.js'

/** What an operation of an API becomes. */
export type OperationKind = 'tool' | 'resource' | 'resourceTemplate' | 'nothing'

/** An operation of a document, for those who decide about it. */
export interface OperationFacts {
  /** The name that it gets as a tool. */
  readonly name: string
  /** In capitals. */
  readonly method: string
  /** As the document has it: `/pets/{petId}`. */
  readonly path: string
  readonly operationId: string | undefined
  readonly tags: readonly string[]
  readonly isDeprecated: boolean
}

/**
 * A credential: a text (of `basic`: `user:password`), or a function that is called for each request, with the
 * scopes that the document asks for. A function that answers undefined has none for this caller.
 */
export type Credential =
  | string
  | ((
      ctx: ToolContext,
      wanted: { readonly scopes: readonly string[] },
    ) => string | undefined | Promise<string | undefined>)

/** What `fromOpenApi` takes. */
export interface OpenApiOptions extends UpstreamLimits {
  /**
   * Where the API is: http or https, with the path that comes before those of the document. Default: the
   * first of the `servers` (2.0: `host`) that the document names; credentials are sent there, and nowhere
   * else.
   */
  readonly baseUrl?: string | URL
  /**
   * Credentials by the names of the document's security schemes, or by `bearer` (any token), `basic` and
   * `apiKey` (of all schemes of that kind). A document that names no scheme takes `bearer` and `basic` for
   * all operations. Default none.
   */
  readonly auth?: Readonly<Record<string, Credential>>
  /** Sent with each request, besides what an operation says. Default none. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Which operations are served: tags, operation ids and names, paths (`/pets/*`), or both (`GET /pets/*`);
   * `*` stands for anything. Default all.
   */
  readonly include?: readonly string[]
  /** Which of those are not, written alike. Default none. */
  readonly exclude?: readonly string[]
  /**
   * Decides what an operation becomes; undefined: a tool. A resource is a GET without required parameters, a
   * template one whose parameters are texts in path and query.
   */
  readonly map?: (operation: OperationFacts) => OperationKind | undefined
  /** The scheme of the uris of resources and templates: `api://host/path`. Default `api`. */
  readonly uriScheme?: string
  /** Whether tools say what they return (`outputSchema`) and return it so. Default true. */
  readonly output?: boolean
  /** Milliseconds that a call may take, with all waits. Default 30,000. */
  readonly timeout?: number
  /** Bytes of a result that are read; the rest is left out, which the result says. Default 262,144. */
  readonly maxBytes?: number
  /**
   * Where `$ref`s of the document may lead besides itself: `files` beside and below the file that it is in,
   * `network` to addresses of the public internet, or of the own network where the document is from there. It
   * needs the package `@apidevtools/json-schema-ref-parser`. Default: nowhere.
   */
  readonly references?: readonly ('files' | 'network')[]
  /** What measures time. Default: the clock of this machine. */
  readonly clock?: Clock
}

/** The options as they were read. */
export type OpenApiSettings = ReturnType<typeof readOpenApiOptions>

const readers = readersOf('fromOpenApi')
const { badOption } = readers

const readUrl: Read<URL> = (value, field) => {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined
  const isPlain = url?.username === '' && url.password === '' && url.hash === '' && url.search === ''
  if (url !== undefined && isPlain && /^https?:$/.test(url.protocol)) return url
  const shown = String(value).replace(/\/\/[^/?#]*@/, '//…@')
  throw badOption(field, 'an http or https address without user, password, query and fragment', shown)
}

const readAuth: Read<ReadonlyMap<string, Credential>> = (value, field) => {
  const given = Object.entries(readers.readObject(value, field))
  for (const [name, one] of given) {
    const fits = typeof one === 'function' || (typeof one === 'string' && one !== '')
    // what it is may be a secret
    if (!fits) throw badOption(`${field}.${name}`, 'a text that is not empty, or a function', typeof one)
  }
  return new Map(given) as ReadonlyMap<string, Credential>
}

const readHeaders: Read<Readonly<Record<string, string>>> = (value, field) => {
  const given = Object.entries(readers.readObject(value, field)).map(([name, one]) => {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw badOption(field, 'names of headers', name)
    if (typeof one !== 'string' || !isHeaderText(one))
      throw badOption(`${field}.${name}`, 'the text of a header', typeof one)
    return [name.toLowerCase(), one]
  })
  return Object.freeze(Object.fromEntries(given))
}

const readPatterns: Read<readonly string[]> = (value, field) => {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== ''))
    return Object.freeze([...value])
  throw badOption(field, 'an array of tags, operation ids or paths', value)
}

const readReferences: Read<readonly ('files' | 'network')[]> = (value, field) => {
  if (Array.isArray(value) && value.every((one) => one === 'files' || one === 'network')) return value
  throw badOption(field, "an array of 'files' and 'network'", value)
}

const readScheme: Read<string> = (value, field) => {
  if (typeof value === 'string' && /^[a-z][a-z\d+.-]*$/.test(value)) return value
  throw badOption(field, 'the scheme of a uri, in small letters', value)
}

const readMap: Read<NonNullable<OpenApiOptions['map']>> = (value, field) => {
  if (typeof value === 'function') return value as NonNullable<OpenApiOptions['map']>
  throw badOption(field, 'a function', value)
}

const readCount: Read<number> = (value, field) => {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
  throw badOption(field, 'a whole number above 0', value)
}

const readMs: Read<number> = (value, field) => {
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value
  throw badOption(field, 'milliseconds above 0', value)
}

const readPerTool: Read<Readonly<Record<string, number>>> = (value, field) => {
  const given = Object.entries(readers.readObject(value, field))
  return Object.fromEntries(given.map(([name, count]) => [name, readCount(count, `${field}.${name}`)]))
}

const readBreaker: Read<BreakerOptions | false> = (value, field) => {
  if (value === false) return false
  const given = readers.readFields(value, field, ['failures', 'pause', 'maxPause'], `${field}.`)
  for (const [name, one] of Object.entries(given))
    if (one !== undefined) (name === 'failures' ? readCount : readMs)(one, `${field}.${name}`)
  return given
}

const readClock: Read<Clock> = (value, field) => {
  if (isObject(value) && typeof value.now === 'function') return value as unknown as Clock
  throw badOption(field, 'a clock', value)
}

const readFlag: Read<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value
  throw badOption(field, 'true or false', value)
}

const none: readonly string[] = Object.freeze([])
const nowhere: readonly ('files' | 'network')[] = Object.freeze([])

const table = {
  baseUrl: orElse(readUrl, undefined),
  auth: orElse(readAuth, new Map<string, Credential>() as ReadonlyMap<string, Credential>),
  headers: orElse(readHeaders, Object.freeze({})),
  include: orElse(readPatterns, undefined),
  exclude: orElse(readPatterns, none),
  map: orElse(readMap, undefined),
  uriScheme: orElse(readScheme, 'api'),
  output: orElse(readFlag, true),
  timeout: orElse(readMs, 30_000),
  maxBytes: orElse(readCount, 262_144),
  references: orElse(readReferences, nowhere),
  maxCalls: orElse(readCount, undefined),
  maxCallsPerCaller: orElse(readCount, undefined),
  maxCallsPerTool: orElse(readPerTool, undefined),
  breaker: orElse(readBreaker, undefined),
  clock: orElse(readClock, undefined),
}

/** Throws BAD_OPTION, naming the field; no credential is shown. */
export function readOpenApiOptions(options: OpenApiOptions) {
  const { clock, ...settings } = readers.readOptions(options, table)
  return { ...settings, world: readWorld(clock) }
}

/** Whether a text can be the value of a header (RFC 9110, section 5.5): nothing that ends a line. */
export function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}

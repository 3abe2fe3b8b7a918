import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { isLinkLocal, isPrivateHost } from '../../transports/base/private-address.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { optionError, type ServerError } from '../base/errors.js'
import type { ResourceDefinition, ResourceTemplateDefinition } from '../definitions/define-resource.js'
import type { ToolDefinition } from '../definitions/define-tool.js'
import { Api, withoutSlashes } from './api.js'
import { type Maker, resourceOf, templateOf, ToolLibrary, toolOf } from './components.js'
import { type ApiDocument, listOf, textOf, Unusable } from './document.js'
import { type LoadedDocument, loadDocument } from './load.js'
import { childrenOf, type Omitted, type Operation, readOperations } from './operations.js'
import {
  type OpenApiOptions,
  type OpenApiSettings,
  type OperationFacts,
  type OperationKind,
  readOpenApiOptions,
} from './options.js'
import { Pace } from './pace.js'
import { Signer } from './security.js'

/** More tools than models choose well from. */
const manyTools = 40

/** An API as components of a server: hand them to `defineServer`. */
export interface OpenApiComponents extends AsyncDisposable {
  readonly tools: readonly ToolDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly resourceTemplates: readonly ResourceTemplateDefinition[]
  /** What of the document is not served though it was asked for, and why. */
  readonly omitted: readonly Omitted[]
  /** What the document calls the API, and its version. */
  readonly title: string
  readonly version: string
  /**
   * Ends the connections to the API, and what is under way. Idle ones end by themselves, and hold no program.
   */
  close(): Promise<void>
}

/**
 * Makes components of an API that has a document of OpenAPI 2.0, 3.0 or 3.1: an object, the path of a file,
 * an address, or its JSON or YAML. Each operation is a tool unless `map` says otherwise; one that cannot be
 * served is in `omitted`, and costs no other. Warns of more than 40 tools (`CADUCEUS_MANY_TOOLS`). Rejects
 * with BAD_OPTION, naming the field, and with BAD_DEFINITION for what is no such document, or cannot be read.
 */
export async function fromOpenApi(
  document: object | string | URL,
  options: OpenApiOptions = {},
): Promise<OpenApiComponents> {
  const settings = readOpenApiOptions(options)
  const pace = new Pace(settings.world)
  const loaded = await loadDocument(document, settings, pace)
  const { root } = loaded.document
  const base = settings.baseUrl ?? (await baseOf(loaded))
  const isGuarded = settings.baseUrl === undefined && loaded.isPublic
  const api = new Api(base, isGuarded, settings, new Signer(loaded.document, settings.auth))
  const said = addressIn(loaded.document, loaded.from) ?? firstServer(root)
  const home = said !== undefined && URL.canParse(said, base.href) ? new URL(said, base.href) : base
  const isHere = (servers: unknown): string | undefined => elsewhere(servers, [home, base])
  const { operations, omitted } = await readOperations(loaded.document, chosenBy(settings), isHere, pace)
  const maker: Maker = {
    document: loaded.document,
    api,
    settings,
    origin: `${settings.uriScheme}://${base.host}${withoutSlashes(base.pathname)}`,
  }
  const made = await makeAll(operations, maker, pace)
  if (made.tools.length > manyTools) warnOfMany(made.tools.length, textOf(childrenOf(root.info).title))
  const close = (): Promise<void> => api.close()
  return Object.freeze({
    ...made,
    omitted: Object.freeze([...omitted, ...made.omitted]),
    title: textOf(childrenOf(root.info).title) ?? base.host,
    version: textOf(childrenOf(root.info).version) ?? '1.0.0',
    close,
    [Symbol.asyncDispose]: close,
  })
}

/** The event loop is everybody's: a large document is made in many steps. */
async function makeAll(operations: readonly Operation[], maker: Maker, pace: Pace) {
  const library = new ToolLibrary(maker)
  const tools: ToolDefinition[] = []
  const resources: ResourceDefinition[] = []
  const resourceTemplates: ResourceTemplateDefinition[] = []
  const omitted: Omitted[] = []
  for (const operation of operations) {
    if (pace.isDue()) await pace.rest()
    try {
      const kind = kindOf(operation, maker.settings)
      if (kind === 'tool') tools.push(toolOf(operation, maker, library))
      if (kind === 'resource') resources.push(resourceOf(operation, maker))
      if (kind === 'resourceTemplate') resourceTemplates.push(templateOf(operation, maker))
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      const { method, path, operationId } = operation
      omitted.push({ method, path, operationId, reason: messageOf(error) })
    }
  }
  return {
    tools: Object.freeze(tools),
    resources: Object.freeze(resources),
    resourceTemplates: Object.freeze(resourceTemplates),
    omitted,
  }
}

const kinds: readonly OperationKind[] = ['tool', 'resource', 'resourceTemplate', 'nothing']

function kindOf(operation: Operation, { map }: OpenApiSettings): OperationKind {
  const { name, method, path, operationId, tags, isDeprecated } = operation
  const kind = map?.({ name, method, path, operationId, tags, isDeprecated }) ?? 'tool'
  if (kinds.includes(kind)) return kind
  throw optionError('map', `fromOpenApi: map: expected ${kinds.join(', ')} or undefined, got ${show(kind)}`)
}

function chosenBy({ include, exclude }: OpenApiSettings): (facts: OperationFacts) => boolean {
  const fits = (patterns: readonly string[]) => {
    const all = patterns.map(matcherOf)
    return (facts: OperationFacts) => all.some((matches) => matches(facts))
  }
  const isIncluded = include === undefined ? () => true : fits(include)
  const isExcluded = fits(exclude)
  return (facts) => isIncluded(facts) && !isExcluded(facts)
}

function matcherOf(pattern: string): (facts: OperationFacts) => boolean {
  const [, method, path] = /^(?:([A-Za-z*]+) +)?(\/.*)$/s.exec(pattern) ?? []
  if (path === undefined) {
    const isIt = wild(pattern)
    return ({ name, operationId, tags }) => [name, operationId ?? name, ...tags].some(isIt)
  }
  const [isMethod, isPath] = [wild(method?.toUpperCase() ?? '*'), wild(path)]
  return (facts) => isMethod(facts.method) && isPath(facts.path)
}

/** Whether a text is as the pattern says, in which `*` stands for anything; in linear time. */
function wild(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  return (text) => {
    if (last === undefined) return text === pattern
    if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
      return false
    let at = first.length
    for (const part of rest) {
      const found = text.indexOf(part, at)
      if (found === -1 || found + part.length > text.length - last.length) return false
      at = found + part.length
    }
    return true
  }
}

/**
 * Where the document says that the API is. Rejects with BAD_OPTION where it does not, or that is not to be
 * trusted.
 */
async function baseOf({ document, from, isPublic }: LoadedDocument): Promise<URL> {
  const said = addressIn(document, from)
  const base =
    said !== undefined && URL.canParse(said, baseFor(from)) ? new URL(said, baseFor(from)) : undefined
  if (base === undefined || !/^https?:$/.test(base.protocol))
    throw missing(said === undefined ? 'the document names no server' : `the document names ${show(said)}`)
  if (base.username !== '' || base.password !== '') throw missing('the document names an address with a user')
  // a stranger's document must not send anybody into our network
  if (isLinkLocal(base.hostname) || (isPublic && (await isPrivateHost(base.hostname))))
    throw missing(`the document names ${base.origin}, an address of this machine or network`)
  return new URL(base.origin + base.pathname)
}

function missing(problem: string): ServerError {
  return optionError('baseUrl', `fromOpenApi: baseUrl: expected the address of the API, since ${problem}`)
}

/** An address that is relative is so from the document, if that has been fetched. */
function baseFor(from: URL | undefined): string | undefined {
  return from === undefined || from.protocol === 'file:' ? undefined : from.href
}

function addressIn({ version, root }: ApiDocument, from: URL | undefined): string | undefined {
  if (version !== '2.0') return serverAddress(listOf(root.servers)[0])
  const { host, basePath, schemes } = root
  const near = baseFor(from)
  if (typeof host !== 'string') return near && typeof basePath === 'string' ? basePath : near
  const all = listOf(schemes)
  const scheme = all.includes('https') || !all.includes('http') ? 'https' : 'http'
  return `${scheme}://${host}${typeof basePath === 'string' ? basePath : ''}`
}

/** The address of a server with its variables at their defaults; undefined for none. */
function serverAddress(server: unknown): string | undefined {
  const { url, variables } = childrenOf(server)
  if (typeof url !== 'string') return undefined
  const given: JsonObject = isObject(variables) ? variables : {}
  return url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const one = Object.hasOwn(given, name) ? childrenOf(given[name]) : {}
    return typeof one.default === 'string' ? one.default : whole
  })
}

/** The server of the first path that names one, in a document that names none for all. */
function firstServer({ paths }: JsonObject): string | undefined {
  for (const item of Object.values(childrenOf(paths))) {
    const { servers } = childrenOf(item)
    const found = serverAddress(listOf(servers)[0])
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Why an operation with servers of its own is not ours to call: there is one address, to which credentials
 * go.
 */
function elsewhere(servers: unknown, [home, base]: readonly [URL, URL]): string | undefined {
  const said = listOf(servers).map(serverAddress)
  const all = said.flatMap((one) =>
    one !== undefined && URL.canParse(one, home.href) ? [new URL(one, home)] : [],
  )
  const placeOf = ({ host, pathname }: URL): string => host + withoutSlashes(pathname)
  const known = [home, base].map(placeOf)
  const [first] = all
  if (first === undefined || all.some((one) => known.includes(placeOf(one)))) return undefined
  const place = `${first.origin}${withoutSlashes(first.pathname)}`
  return `it is served at ${place}: serve it by a fromOpenApi of its own, with this baseUrl`
}

function warnOfMany(count: number, title: string | undefined): void {
  const what = title === undefined ? 'a document' : `the document ${show(title)}`
  process.emitWarning(
    `${what} makes ${count} tools, more than models choose well from: say which in include, or serve them behind gateway(..., { toolSearch: true })`,
    { code: 'CADUCEUS_MANY_TOOLS' },
  )
}

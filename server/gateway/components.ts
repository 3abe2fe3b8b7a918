import { type HeaderPlan, headerParams } from '../../protocol/stateless/headers.js'
import type { UriTemplate } from '../../protocol/uri-template/uri-template.js'
import { parseUriTemplate } from '../../protocol/uri-template/uri-template.js'
import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { handled } from '../../runtime/base/promise.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { gatewaysIn, mostGateways, withGateways } from '../catalog/gateways.js'
import type { Component, ResourceMatch } from '../catalog/catalog.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Principal } from '../../transports/contract/principal.js'
import type { ToolContext } from '../context/context.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { PromptDefinition } from '../definitions/define-prompt.js'
import type { ResourceDefinition, ResourceTemplateDefinition } from '../definitions/define-resource.js'
import { isToolName, type TaskSupport, type ToolDefinition } from '../definitions/define-tool.js'
import type { UpstreamOptions } from '../definitions/gateway-options.js'
import type { Relayed } from '../definitions/relayed.js'
import { likeTemplate, listedName } from './names.js'
import { folded, Readings } from './readings.js'
import type { Aim, RoutedTemplate } from './routes.js'
import type { UpstreamLists } from '../definitions/upstreams.js'
import { notKnown, type Relay, type UpstreamLink } from './link.js'

interface Setting {
  readonly separator: string
  readonly prefix: boolean
  /** Whether tools may run as tasks here. */
  readonly hasTasks: boolean
  /** What stands before the `+` of the addresses of this server. */
  readonly qualifier: string
  /** Whether that name or address is another one's, or is to be: `own` is what the server calls it. */
  isTaken(kind: Component['kind'], key: string, own: string): boolean
  /** Hears of one that cannot be offered: all names for it are another one's. */
  unnamed(kind: 'tool' | 'prompt', own: string): void
}

type NamedComponent = JsonObject & { readonly name: string }

/**
 * What a gateway offers of one server, found out in steps, as that may be much. Names and uris that others have
 * are changed.
 */
export function* componentsOf(
  link: UpstreamLink,
  lists: UpstreamLists,
  setting: Setting,
): Generator<undefined, Component[]> {
  const { filter } = link
  const { rename = {} } = link.options
  const all: Component[] = []
  const taken = new Set<string>()
  const nameOf = (kind: 'tool' | 'prompt', { name }: JsonObject): string | undefined => {
    if (typeof name !== 'string' || name === '') return undefined
    const isOurs = kind === 'tool' && link.isSignIn(name)
    if (!isOurs && !filter.offers(name)) return undefined
    const isTaken = (key: string): boolean => taken.has(`${kind} ${key}`) || setting.isTaken(kind, key, name)
    const renamed = Object.hasOwn(rename, name) ? rename[name] : undefined
    const server = setting.prefix && renamed === undefined ? link.name : undefined
    const listed = listedName(server, setting.separator, renamed ?? name, isTaken)
    if (listed === undefined) setting.unnamed(kind, name)
    else taken.add(`${kind} ${listed}`)
    return listed
  }
  const uriOf = (kind: 'resource' | 'resourceTemplate', own: string): string =>
    setting.isTaken(kind, own, own) ? `${setting.qualifier}+${own}` : own
  for (const entry of lists.tools) {
    const name = nameOf('tool', entry)
    if (name !== undefined)
      all.push(toolOf(link, withPage(entry as NamedComponent, uriOf), name, setting.hasTasks))
    yield
  }
  for (const entry of lists.resources) {
    const own = String(entry.uri)
    if (filter.offers(own)) all.push(resourceOf(link, entry, uriOf('resource', own)))
    yield
  }
  for (const entry of lists.templates) {
    const own = String(entry.uriTemplate)
    if (filter.offers(own)) all.push(...templateOf(link, entry, uriOf('resourceTemplate', own)))
    yield
  }
  for (const entry of lists.prompts) {
    const name = nameOf('prompt', entry)
    if (name !== undefined) all.push(promptOf(link, entry as NamedComponent, name))
    yield
  }
  return all
}

/** The templates of a server, and how they are listed: one that is not offered says what an address is, too. */
export function routedTemplates(lists: UpstreamLists, offered: readonly Component[]): RoutedTemplate[] {
  const listed = offered.filter((component) => component.kind === 'resourceTemplate')
  const known = new Map(
    listed.map(({ relayed, uriTemplate, matcher }) => [
      relayed?.own ?? uriTemplate,
      { listed: uriTemplate, matcher },
    ]),
  )
  const routed = lists.templates.map(({ uriTemplate }): RoutedTemplate => {
    const own = String(uriTemplate)
    const { listed, matcher = parsed(own) } = known.get(own) ?? {}
    let like: ((uri: string) => boolean) | undefined
    const isLike = (uri: string): boolean => {
      like ??= likeTemplate(folded(own))
      return like(uri)
    }
    return { own, listed, matcher, isLike }
  })
  // those that are offered come first
  return [
    ...routed.filter((each) => each.listed !== undefined),
    ...routed.filter((each) => each.listed === undefined),
  ]
}

/**
 * The tool with the address under which its page is listed here (MCP Apps): hosts read it as it stands, and show
 * what the tool answers in it.
 */
function withPage(entry: NamedComponent, uriOf: (kind: 'resource', own: string) => string): NamedComponent {
  const { _meta: meta } = entry
  if (!isObject(meta)) return entry
  const { ui } = meta
  const { 'ui/resourceUri': older } = meta
  const page = isObject(ui) ? ui.resourceUri : undefined
  const changed = {
    ...(typeof page === 'string' && { ui: { ...(ui as object), resourceUri: uriOf('resource', page) } }),
    ...(typeof older === 'string' && { 'ui/resourceUri': uriOf('resource', older) }),
  }
  return { ...entry, _meta: { ...meta, ...changed } }
}

/** A server that is asked for an address, as the table of routes has found it. */
export interface LinkAim extends Omit<Aim, 'server'> {
  readonly link: UpstreamLink
  /** Whether the server lists the address as it is. */
  readonly isListed: boolean
}

/**
 * What a caller finds at an address: the first of these servers that knows it is the one that has it.
 * `gateway`: an id that only this one has.
 */
export function foundAt(
  uri: string,
  aims: readonly LinkAim[],
  gateway: string,
  listedTemplate: (uriTemplate: string) => Component | undefined,
  wantLater: (uri: string) => () => void,
): ResourceMatch | undefined {
  const isOfOne = aims.every(({ link }) => link === aims[0]?.link)
  const read = new Readings()
  const offered = aims.filter((aim) => isOfferedAt(aim, read))
  const [first, ...others] = offered
  const unsure = aims.find(({ link, isListed }) => !isListed && link.lacksTemplates)?.link
  if (first === undefined) return unsure && unsureAt(uri, unsure, wantLater)
  // of one server, the first says what the address means
  if (isOfOne && first !== aims[0]) return undefined
  const permits = ({ principal }: Peer): boolean => isPermitted(first, principal, new Readings())
  const at = {
    // each server has scopes of its own
    scopes: isOfOne ? first.link.options.scopes : undefined,
    permits: isOfOne && first.link.options.permits !== undefined ? permits : undefined,
    relayed: {
      server: isOfOne ? first.link.name : undefined,
      own: first.uri,
      entry: { uri },
      run: (params: object, ctx: ToolContext) =>
        readFirst(uri, allowed(offered, ctx.peer), { params, gateway }, ctx).catch((error: unknown) => {
          throw unsure !== undefined && isUnknown(error) ? notKnown(unsure.name) : error
        }),
      want(peer: Peer, asker?: string) {
        const wanted: (() => void)[] = []
        const undoAll = (): void => {
          for (const undo of wanted) undo()
        }
        try {
          for (const aim of allowed(offered, peer)) wanted.push(aim.link.want(aim.uri, uri, peer, asker))
        } catch (error) {
          undoAll()
          throw error
        }
        return undoAll
      },
    } satisfies Relayed,
  }
  const listed =
    others.length === 0 ? first.templates.find((each) => each.listed !== undefined)?.listed : undefined
  const template = listed === undefined ? undefined : listedTemplate(listed)
  if (template?.kind !== 'resourceTemplate')
    return { resource: Object.freeze({ ...resourceOf(first.link, { uri }, uri), ...at }) }
  const relayed = { ...template.relayed, ...at.relayed }
  return { template: Object.freeze({ ...template, ...at, relayed }), variables: {} }
}

/** What is refused until the templates of a server are known: whoever asks may ask again. */
function unsureAt(uri: string, link: UpstreamLink, wantLater: (uri: string) => () => void): ResourceMatch {
  const guard = resourceOf(link, { uri }, uri)
  return { resource: Object.freeze({ ...guard, relayed: refusedAt(uri, link.name, wantLater) }) }
}

/** What is refused, as its definition is held back, to those who might use it. */
export function heldAt(
  uri: string,
  link: UpstreamLink,
  error: () => McpError,
  wantLater: (uri: string) => () => void,
): ResourceMatch {
  const refuse = (): never => {
    throw error()
  }
  const relayed: Relayed = {
    ...refusedAt(uri, link.name, wantLater),
    run: async () => refuse(),
    want: ({ trusted }) => (trusted === true ? wantLater(uri) : refuse()),
  }
  return { resource: Object.freeze({ ...resourceOf(link, { uri }, uri), relayed }) }
}

/** What is refused until it is known which servers there are behind the one of this name. */
export function pendingAt(uri: string, name: string, wantLater: (uri: string) => () => void): ResourceMatch {
  const nobodys = { scopes: undefined, permits: undefined, session: false, timeout: undefined }
  const relayed = refusedAt(uri, name, wantLater)
  const resource = {
    kind: 'resource',
    ...plain(uri),
    ...described,
    ...nobodys,
    uri,
    size: undefined,
  } as const
  return { resource: Object.freeze({ ...resource, isolated: undefined, read: unused, relayed }) }
}

function refusedAt(uri: string, name: string, wantLater: (uri: string) => () => void): Relayed {
  const refuse = (): never => {
    throw notKnown(name)
  }
  return {
    server: name,
    own: uri,
    entry: { uri },
    run: async () => refuse(),
    // a session that comes back with it is not to fail for it
    want: ({ trusted }) => (trusted === true ? wantLater(uri) : refuse()),
    isUnsure: true,
  }
}

/** One that is among its own servers would be asked for ever. */
function askedBy(gateway: string, uri: string, params: object): object {
  const before = gatewaysIn(params)
  if (before.includes(gateway) || before.length >= mostGateways)
    throw McpError.notFound('Resource not found', { uri })
  return withGateways(params, [...before, gateway])
}

/** Milliseconds that one server is waited for before the next one is asked, too: it may have the resource. */
const head = 1_000

async function readFirst(
  uri: string,
  aims: readonly LinkAim[],
  { params, gateway }: { readonly params: object; readonly gateway: string },
  ctx: ToolContext,
): Promise<JsonObject> {
  const [first, ...others] = aims
  const asked = aims.every(({ isListed }) => isListed) ? params : askedBy(gateway, uri, params)
  const read = ({ link, uri, templates, isListed }: LinkAim): Promise<JsonObject> =>
    link.relay(ctx, readOf({ ...asked, uri }, isListed ? uri : templates[0]?.own))
  if (first !== undefined && others.length === 0) return read(first)
  let failed: unknown = McpError.notFound('Resource not found', { uri })
  const answers: Promise<JsonObject>[] = []
  for (const aim of aims) {
    if (aim.link.server === undefined && !aim.link.isLazy) {
      failed = notKnown(aim.link.name)
      if (aim.isLikely) throw failed
      continue
    }
    if (aim.isLikely) {
      const result = await read(aim).catch((error: unknown) => {
        if (!isUnknown(error)) throw error
      })
      if (result !== undefined) return result
      continue
    }
    // others need not wait for one that may not come, and may have it
    const answer = handled(aim.link.server === undefined ? unlessAway(aim.link, read(aim), ctx) : read(aim))
    answers.push(answer)
    const found = await waitWithin<JsonObject | undefined>(
      { clock: aim.link.clock, ms: head, late: () => undefined, signal: ctx.signal },
      (resolve, reject) => {
        answer.then(resolve, (error: unknown) => {
          if (!(error instanceof McpError)) return reject(error)
          // that one server cannot be asked says more than that another one does not know it
          if (!isUnknown(error)) failed = error
          resolve(undefined)
        })
        return undefined
      },
    )
    if (found !== undefined) return found
  }
  // those that have not answered yet
  return Promise.any(answers).catch(() => {
    throw failed
  })
}

/** The answer of a server that is started for it. Whoever asks for what others may have waits for no outage. */
async function unlessAway(
  link: UpstreamLink,
  answer: Promise<JsonObject>,
  { signal }: ToolContext,
): Promise<JsonObject> {
  const inTime = await waitWithin<JsonObject | undefined>(
    { clock: link.clock, ms: link.startTimeout, late: () => undefined, signal },
    (resolve, reject) => {
      answer.then(resolve, reject)
      return undefined
    },
  )
  if (inTime !== undefined) return inTime
  if (link.server === undefined) throw notKnown(link.name)
  return answer
}

/**
 * Who may be told that a server has changed what is at an address; undefined: whoever has subscribed. False: it is
 * not offered.
 */
export function hearersAt(aim: LinkAim): ((peer: Peer) => boolean) | undefined | false {
  const { scopes = [], permits, allow, deny } = aim.link.options
  if ((allow ?? deny) !== undefined && !isOfferedAt(aim, new Readings())) return false
  if (scopes.length === 0 && permits === undefined) return undefined
  const read = new Readings()
  return (peer) => isAllowed(peer, { scopes, permits: ({ principal }) => isPermitted(aim, principal, read) })
}

function allowed(aims: readonly LinkAim[], peer: Peer): readonly LinkAim[] {
  const read = new Readings()
  return aims.filter((aim) => {
    const { scopes } = aim.link.options
    return isAllowed(peer, { scopes, permits: ({ principal }) => isPermitted(aim, principal, read) })
  })
}

/** Callers choose how they write an address: each reading counts, and every template that has one of them. */
function isOfferedAt({ link, uri, templates, all, isListed }: LinkAim, read: Readings): boolean {
  const { filter } = link
  if (isListed) return filter.offers(uri)
  // which template it is of, nobody knows yet
  if (link.lacksTemplates) return false
  if (!filter.judges(uri, link.schemes)) return false
  // no verdict is kept of what callers write
  if (filter.isOpen) return !filter.denies([uri])
  const [readings, within] = [read.of(uri), read.within(uri)]
  if (readings === undefined || within === undefined) return false
  if (filter.denies([...within, ...templatesLike(within, all).map(({ own }) => own)])) return false
  return filter.allows(
    uri,
    readings,
    templates.map(({ own }) => own),
  )
}

/**
 * An address that the server lists is asked about as it is listed; any other in each reading, with its
 * template.
 */
function isPermitted(
  { link, uri, all, isListed }: LinkAim,
  principal: Principal | undefined,
  read: Readings,
): boolean {
  if (isListed || link.options.permits === undefined) return permitsOf(link.options, principal, uri)
  const listed = all.filter((template) => template.listed !== undefined)
  const readings = read.within(uri) ?? []
  const means = readings.flatMap((reading) => {
    const exact = listed.find(({ matcher }) => matcher?.match(reading) !== undefined)
    return exact === undefined ? templatesLike([reading], all) : [exact]
  })
  const names = new Set([...means.map(({ own }) => own), ...readings])
  return names.size > 0 && [...names].every((name) => permitsOf(link.options, principal, name))
}

/** In either case, as some servers take addresses. */
function templatesLike(
  readings: readonly string[],
  templates: readonly RoutedTemplate[],
): readonly RoutedTemplate[] {
  const uris = [...new Set(readings.map(folded))]
  return templates.filter((template) => uris.some((uri) => template.isLike(uri)))
}

/** Whether a server has said that it has no such resource (specification: resources, errors). */
function isUnknown(error: unknown): boolean {
  const { resourceNotFound, invalidParams, methodNotFound } = errorCodes
  return (
    error instanceof McpError &&
    [resourceNotFound, invalidParams, methodNotFound].includes(error.code as never)
  )
}

function toolOf(
  link: UpstreamLink,
  entry: JsonObject & { name: string },
  name: string,
  hasTasks: boolean,
): ToolDefinition {
  const { execution, annotations, ...rest } = entry
  const task = hasTasks ? supportOf(execution) : 'forbidden'
  const { readOnlyHint, idempotentHint } = isObject(annotations) ? annotations : {}
  const input = isObject(rest.inputSchema) ? rest.inputSchema : {}
  let headers: HeaderPlan | undefined
  return Object.freeze({
    kind: 'tool',
    ...common(link, isToolName(name) ? name : entry.name, entry.name),
    schema: {
      jsonSchema: input,
      parse: (value: unknown) => ({ value }),
    },
    output: undefined,
    get headers() {
      headers ??= headersIn(input)
      return headers
    },
    annotations: undefined,
    task,
    // who knows whether it has been done
    taskRestart: readOnlyHint === true || idempotentHint === true ? 'again' : 'fail',
    prepare: undefined,
    run: unused,
    relayed: {
      server: link.name,
      own: entry.name,
      through: link.throughOf('tools', entry.name),
      entry:
        task === 'forbidden' && execution !== undefined
          ? without({ ...entry, name }, 'execution')
          : { ...entry, name },
      run: (params: object, ctx: ToolContext) =>
        link.relay(ctx, {
          method: 'tools/call',
          params: { ...params, name: entry.name },
          tool: entry.name,
          asTask: supportOf(execution) === 'required',
        }),
    },
  })
}

/** None where the schema breaks the rules for them: clients leave such a tool out. */
function headersIn(schema: JsonObject): HeaderPlan {
  try {
    return headerParams(schema)
  } catch (error) {
    if (error instanceof ProtocolError) return []
    throw error
  }
}

function supportOf(execution: unknown): TaskSupport {
  const support = isObject(execution) ? execution.taskSupport : undefined
  return support === 'optional' || support === 'required' ? support : 'forbidden'
}

function resourceOf(link: UpstreamLink, entry: JsonObject, uri: string): ResourceDefinition {
  const own = String(entry.uri)
  const relayed: Relayed = {
    server: link.name,
    own,
    through: link.throughOf('resources', own),
    entry: { ...entry, uri },
    run: (params, ctx) => link.relay(ctx, readOf({ ...params, uri: own }, own)),
    want: (peer, asker) => link.want(own, uri, peer, asker),
  }
  const name = typeof entry.name === 'string' ? entry.name : uri
  return Object.freeze({
    kind: 'resource',
    ...common(link, name, own),
    ...described,
    uri,
    size: undefined,
    read: unused,
    relayed,
  })
}

/** `entry`: what the server lists for it, a resource or a template; each may fail by itself. */
function readOf(params: JsonObject, entry: string | undefined): Relay {
  const method = 'resources/read'
  return { method, params, what: entry === undefined ? method : `${method} ${entry}` }
}

/** None where the template cannot be read: nobody could say which uris are meant. */
function templateOf(
  link: UpstreamLink,
  entry: JsonObject,
  uriTemplate: string,
): ResourceTemplateDefinition[] {
  const own = String(entry.uriTemplate)
  const matcher = parsed(own)
  if (matcher === undefined) return []
  const relayed: Relayed = {
    server: link.name,
    own,
    through: link.throughOf('templates', own),
    entry: { ...entry, uriTemplate },
    // a read has an address: `foundAt` says what becomes of it
    run: unused,
    ...(link.completes && {
      complete: (params: object, ctx) =>
        link.relay(ctx, {
          method: 'completion/complete',
          params: { ...params, ref: { ...Reflect.get(params, 'ref'), uri: own } },
          what: `completion/complete ${own}`,
        }),
    }),
  }
  const name = typeof entry.name === 'string' ? entry.name : uriTemplate
  return [
    Object.freeze({
      kind: 'resourceTemplate',
      ...common(link, name, own),
      ...described,
      uriTemplate,
      matcher,
      completers: {},
      read: unused,
      relayed,
    }),
  ]
}

function parsed(template: string): UriTemplate | undefined {
  try {
    return parseUriTemplate(template)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

function promptOf(link: UpstreamLink, entry: JsonObject & { name: string }, name: string): PromptDefinition {
  const relayed: Relayed = {
    server: link.name,
    own: entry.name,
    through: link.throughOf('prompts', entry.name),
    entry: { ...entry, name },
    run: (params, ctx) =>
      link.relay(ctx, {
        method: 'prompts/get',
        params: { ...params, name: entry.name },
        what: `prompts/get ${entry.name}`,
      }),
    ...(link.completes && {
      complete: (params: object, ctx) =>
        link.relay(ctx, {
          method: 'completion/complete',
          params: { ...params, ref: { ...Reflect.get(params, 'ref'), name: entry.name } },
          what: `completion/complete ${entry.name}`,
        }),
    }),
  }
  return Object.freeze({
    kind: 'prompt',
    ...common(link, name, entry.name),
    arguments: [],
    reader: undefined,
    get: unused,
    completers: {},
    relayed,
  })
}

/** Lists show the entry of the server instead. */
const described = Object.freeze({ mimeType: undefined, annotations: undefined, cache: undefined })

function plain(name: string) {
  return { name, title: undefined, description: undefined, icons: undefined, meta: undefined }
}

function common(link: UpstreamLink, name: string, own: string) {
  return {
    ...plain(name),
    ...guardOf(link, own),
    session: false,
    timeout: link.lastTimeout,
    isolated: undefined,
  }
}

/** Who may see and use what the server calls `own`. */
function guardOf({ options }: UpstreamLink, own: string): Required<Guarded> {
  const { scopes, permits } = options
  return { scopes, permits: permits && (({ principal }) => permitsOf(options, principal, own)) }
}

/** Code of the user: what it throws is a no. */
function permitsOf({ permits }: UpstreamOptions, principal: Principal | undefined, own: string): boolean {
  try {
    return permits === undefined || permits(principal, own) === true
  } catch {
    return false
  }
}

function unused(): never {
  throw new Error('a relayed component has no handler of its own')
}

function without(entry: JsonObject, field: string): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== field))
}

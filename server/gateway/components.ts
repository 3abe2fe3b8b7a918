import type { UriTemplate } from '../../protocol/uri-template/uri-template.js'
import { parseUriTemplate } from '../../protocol/uri-template/uri-template.js'
import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Component } from '../catalog/catalog.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { ToolContext } from '../context/context.js'
import { type Guarded, isAllowed } from '../context/scopes.js'
import type { PromptDefinition } from '../definitions/define-prompt.js'
import type { ResourceDefinition, ResourceTemplateDefinition } from '../definitions/define-resource.js'
import { isToolName, type TaskSupport, type ToolDefinition } from '../definitions/define-tool.js'
import type { Relayed } from '../definitions/relayed.js'
import { fits, listedName, qualifiedUri } from './names.js'
import type { UpstreamLists } from '../definitions/upstreams.js'
import type { UpstreamLink } from './link.js'

interface Setting {
  readonly separator: string
  readonly prefix: boolean
  /** Whether tools may run as tasks here. */
  readonly hasTasks: boolean
  /** Whether another server has a component of that name or uri. */
  isTaken(kind: Component['kind'], key: string): boolean
}

/** What a gateway offers of one server. Names and uris that others have are changed. */
export function componentsOf(link: UpstreamLink, lists: UpstreamLists, setting: Setting): Component[] {
  const { allow, deny = [], rename = {} } = link.options
  const offered = (name: string): boolean =>
    (allow === undefined || fits(name, allow)) && !fits(name, deny) && name !== ''
  const taken = new Set<string>()
  const nameOf = (kind: 'tool' | 'prompt', name: string): string => {
    const isTaken = (key: string): boolean => taken.has(`${kind} ${key}`) || setting.isTaken(kind, key)
    const renamed = Object.hasOwn(rename, name) ? rename[name] : undefined
    const server = setting.prefix && renamed === undefined ? link.name : undefined
    const listed = listedName(server, setting.separator, renamed ?? name, isTaken)
    taken.add(`${kind} ${listed}`)
    return listed
  }
  const uriOf = (kind: 'resource' | 'resourceTemplate', uri: string): string =>
    setting.isTaken(kind, uri) ? qualifiedUri(link.name, uri) : uri
  const named = (entries: readonly JsonObject[]): (JsonObject & { readonly name: string })[] =>
    entries.filter((entry): entry is JsonObject & { name: string } => {
      const { name } = entry
      return typeof name === 'string' && offered(name)
    })
  return [
    ...named(lists.tools).map((entry) => toolOf(link, entry, nameOf('tool', entry.name), setting.hasTasks)),
    ...lists.resources.map((entry) => resourceOf(link, entry, uriOf('resource', String(entry.uri)))),
    ...lists.templates.flatMap((entry) =>
      templateOf(link, entry, uriOf('resourceTemplate', String(entry.uriTemplate))),
    ),
    ...named(lists.prompts).map((entry) => promptOf(link, entry, nameOf('prompt', entry.name))),
  ]
}

/** A resource that is in no list: the first of these servers that knows it is the one that has it. */
export function unlistedResource(links: readonly UpstreamLink[], uri: string): ResourceDefinition {
  const [first, ...others] = links
  if (first === undefined) throw new Error('a resource belongs to a server')
  const resource = resourceOf(first, { uri }, uri)
  if (others.length === 0) return resource
  const run: Relayed['run'] = async (params, ctx) => {
    let failed: unknown = McpError.notFound('Resource not found', { uri })
    for (const link of allowed(links, ctx.peer, uri))
      try {
        return await link.relay(ctx, { method: 'resources/read', params: params as JsonObject })
      } catch (error) {
        if (!(error instanceof McpError)) throw error
        // that one server cannot be asked says more than that another one does not know it
        if (!isUnknown(error)) failed = error
      }
    throw failed
  }
  const want: Relayed['want'] = (_uri, peer) => {
    const wanted = allowed(links, peer, uri).map((link) => link.want(uri, uri))
    return () => {
      for (const undo of wanted) undo()
    }
  }
  // each server has scopes of its own
  return Object.freeze({
    ...resource,
    scopes: undefined,
    permits: undefined,
    relayed: { server: undefined, entry: { uri }, run, want },
  })
}

function allowed(links: readonly UpstreamLink[], peer: Peer, uri: string): readonly UpstreamLink[] {
  return links.filter((link) => isAllowed(peer, guardOf(link, uri)))
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
  return Object.freeze({
    kind: 'tool',
    ...common(link, isToolName(name) ? name : entry.name, entry.name),
    schema: {
      jsonSchema: isObject(rest.inputSchema) ? rest.inputSchema : {},
      parse: (value: unknown) => ({ value }),
    },
    output: undefined,
    headers: [],
    annotations: undefined,
    task,
    // who knows whether it has been done
    taskRestart: readOnlyHint === true || idempotentHint === true ? 'again' : 'fail',
    prepare: undefined,
    run: unused,
    relayed: {
      server: link.name,
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

function supportOf(execution: unknown): TaskSupport {
  const support = isObject(execution) ? execution.taskSupport : undefined
  return support === 'optional' || support === 'required' ? support : 'forbidden'
}

function resourceOf(link: UpstreamLink, entry: JsonObject, uri: string): ResourceDefinition {
  const own = String(entry.uri)
  const relayed: Relayed = {
    server: link.name,
    entry: { ...entry, uri },
    run: (params, ctx) =>
      link.relay(ctx, { method: 'resources/read', params: { ...params, uri: link.ownUri(own) } }),
    want: () => link.want(link.ownUri(own), uri),
  }
  const name = typeof entry.name === 'string' ? entry.name : uri
  return Object.freeze({
    kind: 'resource',
    ...common(link, name, link.ownUri(own)),
    ...described,
    uri,
    size: undefined,
    read: unused,
    relayed,
  })
}

/** None where the template cannot be read: nobody could say which uris are meant. */
function templateOf(
  link: UpstreamLink,
  entry: JsonObject,
  uriTemplate: string,
): ResourceTemplateDefinition[] {
  const matcher = parsed(uriTemplate)
  if (matcher === undefined) return []
  const relayed: Relayed = {
    server: link.name,
    entry: { ...entry, uriTemplate },
    run(params, ctx) {
      const { uri } = params as { readonly uri: string }
      return link.relay(ctx, { method: 'resources/read', params: { ...params, uri: link.ownUri(uri) } })
    },
    want: (uri) => link.want(link.ownUri(uri), uri),
    ...(link.completes && {
      complete: (params: object, ctx) =>
        link.relay(ctx, {
          method: 'completion/complete',
          params: { ...params, ref: { ...Reflect.get(params, 'ref'), uri: String(entry.uriTemplate) } },
        }),
    }),
  }
  const name = typeof entry.name === 'string' ? entry.name : uriTemplate
  return [
    Object.freeze({
      kind: 'resourceTemplate',
      ...common(link, name, String(entry.uriTemplate)),
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
    entry: { ...entry, name },
    run: (params, ctx) => link.relay(ctx, { method: 'prompts/get', params: { ...params, name: entry.name } }),
    ...(link.completes && {
      complete: (params: object, ctx) =>
        link.relay(ctx, {
          method: 'completion/complete',
          params: { ...params, ref: { ...Reflect.get(params, 'ref'), name: entry.name } },
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

function common(link: UpstreamLink, name: string, own: string) {
  const { options } = link
  return {
    name,
    title: undefined,
    description: undefined,
    icons: undefined,
    meta: undefined,
    ...guardOf(link, own),
    session: false,
    timeout: options.timeout,
    isolated: undefined,
  }
}

/** Who may see and use what the server calls `own`. */
function guardOf({ options: { scopes, permits } }: UpstreamLink, own: string): Required<Guarded> {
  if (permits === undefined) return { scopes, permits }
  return {
    scopes,
    permits({ principal }) {
      try {
        return permits(principal, own) === true
      } catch {
        return false
      }
    },
  }
}

function unused(): never {
  throw new Error('a relayed component has no handler of its own')
}

function without(entry: JsonObject, field: string): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== field))
}

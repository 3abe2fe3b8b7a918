import type { Dialect, Revision } from '../../protocol/dialects/dialect.js'
import { fitResult } from '../../protocol/dialects/fit.js'
import type { Method, Result } from '../../protocol/messages/methods.js'
import type { McpError } from '../../protocol/wire/errors.js'
import { stampResult } from '../../protocol/stateless/stamp.js'
import type { Annotations, CacheHints, Icon, Meta } from '../../protocol/messages/base.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { Resource } from '../../protocol/messages/content.js'
import type { Prompt, PromptArgument } from '../../protocol/messages/prompts.js'
import type { ResourceTemplate } from '../../protocol/messages/resources.js'
import type { ObjectSchema, Tool } from '../../protocol/messages/tools.js'
import type { TemplateValue } from '../../protocol/uri-template/parts.js'
import { offered } from '../../protocol/dialects/versions.js'
import { tasksExtension } from '../../protocol/messages/tasks.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { World } from '../../runtime/time/world.js'
import { show } from '../../runtime/base/errors.js'
import type { ListKind } from '../context/changes.js'
import { Cursors } from './cursors.js'
import { type Immediate, immediate } from './immediate.js'
import type { PromptDefinition } from '../definitions/define-prompt.js'
import type { ResourceDefinition, ResourceTemplateDefinition } from '../definitions/define-resource.js'
import type { ServerDefinition } from '../definitions/define-server.js'
import type { ToolDefinition } from '../definitions/define-tool.js'
import { given } from '../definitions/definition.js'
import type { LowLevel } from '../definitions/low-level.js'
import type { Secrets } from '../base/sealing.js'
import type { SkillDefinition, SkillFolderChild } from '../definitions/skills.js'
import { Shelf, type ShelfSettings } from './shelf.js'

export type Component = ToolDefinition | ResourceDefinition | ResourceTemplateDefinition | PromptDefinition

/** What the servers behind a gateway add to its catalog. */
export interface UpstreamComponents {
  /** What they have at an address that is not listed: of templates, too, as only one of them may answer. */
  find(uri: string): ResourceMatch | undefined
  /**
   * The error for an unlisted name that a server behind a gateway may have, which has not listed what it
   * offers, or whose definition is held back.
   */
  absent(name: string, peer: Peer): McpError | undefined
  /** An id that only this gateway has. */
  readonly gateway: string
  /**
   * Starts those of which nothing is known, and resolves when it is; undefined when there are none. Never
   * rejects.
   */
  wake(): Promise<void> | undefined
  /** Whether one of which nothing is known may suggest values for arguments. */
  readonly mayComplete: boolean
  /** The server's own instructions, and those of servers of which a peer sees something. */
  instructionsFor(peer: Peer): string | undefined
}

/** Who may be told that a resource has changed; undefined: whoever has subscribed. */
export type Hearers = ((peer: Peer) => boolean) | undefined

/** Addresses of which that is remembered. */
const maxRemembered = 10_000

interface CatalogSettings {
  readonly pageSize: number
  /** The spoken revisions, newest first. */
  readonly revisions: readonly Revision[]
  /** Secrets that seal cursors; undefined: a random one. */
  readonly cursorKeys?: Secrets | undefined
  /** Whether tools may run as tasks here. */
  readonly hasTasks?: boolean
}

export type ResourceMatch =
  | { readonly resource: ResourceDefinition }
  | {
      readonly template: ResourceTemplateDefinition
      readonly variables: Readonly<Record<string, TemplateValue>>
    }

export function componentIn(found: ResourceMatch): ResourceDefinition | ResourceTemplateDefinition {
  return 'resource' in found ? found.resource : found.template
}

/** A session asks for what its client has been allowed before. */
export const itself: Peer = Object.freeze({
  transport: '',
  headers: {},
  remoteAddress: undefined,
  trusted: true,
})

/** Characters of a uri: matching takes time and memory with each of them. */
export const maxUriLength = 8_192

const listOf = Object.freeze({
  tool: 'tools',
  resource: 'resources',
  resourceTemplate: 'resources',
  prompt: 'prompts',
} as const)

/** Tools that are warned of: they may come and go. */
const maxSilent = 100

/** The components of one server, also those added while it runs. Only the base actor changes it; all read it. */
export class Catalog {
  readonly tools: Shelf<ToolDefinition, 'tools/list'>
  readonly resources: Shelf<ResourceDefinition, 'resources/list'>
  readonly templates: Shelf<ResourceTemplateDefinition, 'resources/templates/list'>
  readonly prompts: Shelf<PromptDefinition, 'prompts/list'>
  readonly cursors: Cursors
  readonly skills: Shelf<SkillDefinition, 'skills/list'>
  readonly #how: ShelfSettings
  /** Made when they are first asked for: there are as many as the definition has. */
  readonly #folders = new Map<string, Shelf<SkillFolderChild, 'resources/directory/read'>>()
  readonly #definition: ServerDefinition
  readonly #offered: readonly Revision[]
  /** With the instructions in it. */
  #discoveries = new Map<Dialect, readonly [instructions: string | undefined, answer: Immediate]>()
  readonly #hearers = new Map<string, Hearers>()
  /** Starts above the versions of an earlier program, whose components may have been others. */
  #version: number
  readonly #changedAt: Record<ListKind, number>
  readonly #hasTasks: boolean
  /** Tools that returned nothing; each is reported once. */
  readonly #silent = new Set<string>()
  #capabilities: ServerCapabilities
  #upstream: UpstreamComponents | undefined

  constructor(
    definition: ServerDefinition,
    { pageSize, revisions, cursorKeys, hasTasks = false }: CatalogSettings,
    world: World,
  ) {
    const { tools, resources, resourceTemplates, prompts } = definition
    const cursors = new Cursors(definition.info.name, world, cursorKeys)
    this.cursors = cursors
    const how = { pageSize, cursors, catalog: this }
    this.#version = world.date()
    this.#changedAt = { tools: this.#version, resources: this.#version, prompts: this.#version }
    this.#definition = definition
    this.#offered = offered(revisions)
    this.#hasTasks = hasTasks
    this.tools = new Shelf(hasTasks ? taskToolPlan : toolPlan, tools, how)
    this.resources = new Shelf(resourcePlan, resources, how)
    this.templates = new Shelf(templatePlan, resourceTemplates, how)
    this.prompts = new Shelf(promptPlan, prompts, how)
    this.skills = new Shelf(skillPlan, definition.skills?.skills ?? [], how)
    this.#how = how
    this.#capabilities = this.#readCapabilities()
  }

  /** Warns, once for each tool, of one whose result is empty: a `return` may be missing. */
  noteSilent(tool: string): void {
    if (this.#silent.has(tool) || this.#silent.size >= maxSilent) return
    this.#silent.add(tool)
    process.emitWarning(
      `server ${this.#definition.info.name}: tool ${show(tool)} returned nothing, so the model is told nothing: return a text, such as 'done', or '' if that is meant`,
      { code: 'CADUCEUS_NO_RESULT' },
    )
  }

  get lowLevel(): LowLevel {
    return this.#definition.lowLevel
  }

  /** Another number after every change. */
  get version(): number {
    return this.#version
  }

  get capabilities(): ServerCapabilities {
    return this.#capabilities
  }

  /** The capabilities for a client with a session. Tasks cannot be listed by clients that cannot be told apart. */
  capabilitiesFor(peer: Peer): ServerCapabilities {
    const { tasks, extensions, ...others } = this.#capabilities
    if (tasks === undefined) return this.#capabilities
    const { [tasksExtension]: _tasks, ...rest } = extensions ?? {}
    const isKnown = peer.principal !== undefined || peer.trusted === true
    return {
      ...others,
      tasks: isKnown ? { list: {}, ...tasks } : tasks,
      ...(Object.keys(rest).length > 0 && { extensions: rest }),
    }
  }

  /** The lists that have changed since a version; all of them for a version of another catalog. */
  changedSince(version: number): ListKind[] {
    const lists = Object.keys(this.#changedAt) as ListKind[]
    return lists.filter(
      (list) =>
        this.#definition.declared[list] && (version > this.#version || this.#changedAt[list] > version),
    )
  }

  /** Whether the server declares this kind: only such components can be added. */
  declares({ kind }: Pick<Component, 'kind'>): boolean {
    return this.#definition.declared[listOf[kind]]
  }

  /** Whether it has skills of its own; `handleRequest` of an author may answer for others. */
  get servesSkills(): boolean {
    return this.#definition.skills !== undefined
  }

  /** What lies in a folder of skills; undefined for any other uri. */
  folder(uri: string): Shelf<SkillFolderChild, 'resources/directory/read'> | undefined {
    const known = this.#folders.get(uri)
    const children = this.#definition.skills?.folders?.get(uri)
    if (known !== undefined || children === undefined) return known
    const folder = new Shelf(folderPlan(uri), children, this.#how)
    this.#folders.set(uri, folder)
    return folder
  }

  /**
   * The resource of this uri, or the first template that matches it, if it has at most 8,192 characters;
   * then what servers behind this one have there.
   */
  find(uri: string): ResourceMatch | undefined {
    const resource = this.#definition.skills?.files.get(uri) ?? this.resources.get(uri)
    if (resource !== undefined) return { resource }
    if (uri.length > maxUriLength) return undefined
    for (const template of this.templates.all()) {
      if (template.relayed !== undefined) continue
      const variables = template.matcher.match(uri)
      if (variables !== undefined) return { template, variables }
    }
    return this.#upstream?.find(uri)
  }

  /** How to use the server, for the model. */
  instructionsFor(peer: Peer): string | undefined {
    return this.#upstream === undefined ? this.#definition.instructions : this.#upstream.instructionsFor(peer)
  }

  /** Adds the servers behind a gateway: their instructions, and resources that they do not list. */
  extend(upstream: UpstreamComponents): void {
    this.#upstream = upstream
    this.#hearers.clear()
    this.#capabilities = this.#readCapabilities()
    this.#discoveries = new Map()
  }

  /** What `read` says of an address, found out once until something changes. */
  remembered(uri: string, read: (uri: string, catalog: Catalog) => Hearers): Hearers {
    if (this.#hearers.has(uri)) return this.#hearers.get(uri)
    const found = read(uri, this)
    if (this.#hearers.size >= maxRemembered) this.#hearers.clear()
    this.#hearers.set(uri, found)
    return found
  }

  get isExtended(): boolean {
    return this.#upstream !== undefined
  }

  /** See `UpstreamComponents`; undefined where no servers are behind this one. */
  get gateway(): string | undefined {
    return this.#upstream?.gateway
  }

  /** The gateways that a component came through, the nearest first. */
  throughOf(kind: Component['kind'], key: string): readonly string[] {
    return (this.#shelf(kind) as unknown as Shelf<Component, never>).get(key)?.relayed?.through ?? []
  }

  /** See `UpstreamComponents`. */
  absent(name: string, peer: Peer): McpError | undefined {
    return this.#upstream?.absent(name, peer)
  }

  /** See `UpstreamComponents`. */
  wake(): Promise<void> | undefined {
    return this.#upstream?.wake()
  }

  /**
   * The answer to `server/discover`, written once until a change, unless peers are told different instructions
   * (specification: 2026-07-28, discover).
   */
  discover(dialect: Dialect, peer: Peer): Immediate {
    const known = this.#discoveries.get(dialect)
    const instructions = this.instructionsFor(peer)
    if (known !== undefined && known[0] === instructions) return known[1]
    const result = this.finish(dialect, 'server/discover', {
      supportedVersions: [...this.#offered],
      capabilities: this.#capabilities,
      ...(instructions !== undefined && { instructions }),
    })
    const discovery = immediate(result)
    this.#discoveries.set(dialect, [instructions, discovery])
    return discovery
  }

  /** A result in the shape of a revision. `cache` overrides the cache hints of the server. */
  finish<M extends Method>(dialect: Dialect, method: M, result: Result<M>, cache?: CacheHints): Result<M> {
    const fitted = fitResult(dialect, method, result)
    if (dialect.handshake) return fitted
    const { info: serverInfo } = this.#definition
    return stampResult(method, fitted, { serverInfo, cache: cache ?? this.#definition.cache })
  }

  /** A result that no revision lacks anything of, with what 2026-07-28 adds to all. */
  stamp<R extends object>(dialect: Dialect, result: R): R {
    if (dialect.handshake) return result
    const { info: serverInfo, cache } = this.#definition
    return stampResult('', result, { serverInfo, cache })
  }

  /** The hints (default: the server's) for an answer that is not the same for everybody. */
  privately(cache: CacheHints | undefined): CacheHints {
    const { ttlMs } = cache ?? this.#definition.cache
    return { ttlMs, cacheScope: 'private' }
  }

  get guardsResources(): boolean {
    // what is in no list of theirs has guards, too
    return this.#upstream !== undefined || this.resources.isGuarded || this.templates.isGuarded
  }

  /** Whether there is a component of this name or uri. */
  has(kind: Component['kind'], key: string): boolean {
    return (this.#shelf(kind) as unknown as Shelf<Component, never>).get(key) !== undefined
  }

  /** What the servers behind this one have. */
  relayed(): readonly Component[] {
    const { tools, resources, templates, prompts } = this
    return [tools, resources, templates, prompts].flatMap((shelf) =>
      [...(shelf.all() as Iterable<Component>)].filter(({ relayed }) => relayed?.server !== undefined),
    )
  }

  /**
   * Somebody wants to hear of changes of a resource, until the returned function is called: `asker` tells apart
   * those of this machine whom nobody knows, such as the id of a session. Undefined where
   * no server behind this one has to know.
   */
  want(uri: string, peer: Peer, asker: string | undefined): (() => void) | undefined {
    const found = this.#upstream === undefined ? undefined : this.find(uri)
    return found && this.wantFound(found, peer, asker)
  }

  /** The same, of what `find` has found. */
  wantFound(found: ResourceMatch, peer: Peer, asker?: string): (() => void) | undefined {
    return componentIn(found).relayed?.want?.(peer, asker)
  }

  /** False when its name or uri is taken. */
  add(component: Component): boolean {
    return this.#note(component.kind, (this.#shelf(component.kind) as Shelf<Component, never>).add(component))
  }

  remove(kind: Component['kind'], key: string): boolean {
    return this.#note(kind, this.#shelf(kind).remove(key))
  }

  /** Changes many components at once. What has a key that is taken is left out, and answered. */
  swap(removed: readonly (readonly [Component['kind'], string])[], added: readonly Component[]): Component[] {
    const kinds = ['tool', 'resource', 'resourceTemplate', 'prompt'] as const
    return kinds.flatMap((kind) => {
      const gone = removed.flatMap(([of, key]) => (of === kind ? [key] : []))
      const come = added.filter((component) => component.kind === kind)
      if (gone.length + come.length === 0) return []
      const shelf = this.#shelf(kind) as unknown as Pick<Shelf<Component, never>, 'swap'>
      const refused = shelf.swap(gone, come)
      this.#note(kind, true)
      return refused
    })
  }

  /** Notes that the author has changed a list. False if the server does not declare it. */
  touch(list: ListKind): boolean {
    if (!this.#definition.declared[list]) return false
    this.#version += 1
    this.#changedAt[list] = this.#version
    return true
  }

  #note(kind: Component['kind'], changed: boolean): boolean {
    if (!changed) return false
    this.#hearers.clear()
    this.#version += 1
    this.#changedAt[listOf[kind]] = this.#version
    this.#capabilities = this.#readCapabilities()
    this.#discoveries = new Map()
    return true
  }

  #shelf(kind: Component['kind']): Pick<Shelf<never, never>, 'remove'> {
    const { tools, resources, templates, prompts } = this
    return { tool: tools, resource: resources, resourceTemplate: templates, prompt: prompts }[kind]
  }

  #readCapabilities(): ServerCapabilities {
    const { tools, resources, prompts, logging } = this.#definition.declared
    const extensions = {
      ...this.#definition.extensions,
      ...(this.#hasTasks && { [tasksExtension]: {} }),
    }
    const hasCompletions =
      this.#upstream?.mayComplete === true || [...this.templates.all(), ...this.prompts.all()].some(completes)
    return Object.freeze({
      ...(logging && { logging: {} }),
      ...(hasCompletions && { completions: {} }),
      ...(prompts && { prompts: { listChanged: true } }),
      ...(resources && { resources: { subscribe: true, listChanged: true } }),
      ...(tools && { tools: { listChanged: true } }),
      ...(this.#hasTasks && { tasks: { cancel: {}, requests: { tools: { call: {} } } } }),
      // older revisions pass extensions over as a field they do not know
      ...(Object.keys(extensions).length > 0 && { extensions }),
    })
  }
}

function completes({ completers, relayed }: PromptDefinition | ResourceTemplateDefinition): boolean {
  return Object.keys(completers).length > 0 || relayed?.complete !== undefined
}

const toolPlan = {
  method: 'tools/list',
  key: ({ name }: ToolDefinition) => name,
  list: (tools: readonly ToolDefinition[]) => ({
    tools: tools.map(({ name, title, description, schema, output, annotations, relayed, ...last }) => {
      if (relayed !== undefined) return relayed.entry as unknown as Tool
      const schemas = { inputSchema: schema.jsonSchema as ObjectSchema, outputSchema: output?.jsonSchema }
      return given({ name, title, description, ...schemas, annotations, ...shownLast(last) })
    }),
  }),
} as const

/** Where tools may run as tasks: those that do say so. */
const taskToolPlan = {
  ...toolPlan,
  list: (tools: readonly ToolDefinition[]) => ({
    tools: toolPlan.list(tools).tools.map((listed, index) => {
      const { task = 'forbidden', relayed } = tools[index] ?? {}
      return task === 'forbidden' || relayed !== undefined
        ? listed
        : { ...listed, execution: { taskSupport: task } }
    }),
  }),
} as const

const resourcePlan = {
  method: 'resources/list',
  key: ({ uri }: ResourceDefinition) => uri,
  list: (resources: readonly ResourceDefinition[]) => ({
    resources: resources.map(({ uri, name, title, description, mimeType, size, relayed, ...last }) =>
      relayed !== undefined
        ? (relayed.entry as unknown as Resource)
        : given({ uri, name, title, description, mimeType, size, ...hintsOf(last), ...shownLast(last) }),
    ),
  }),
} as const

const templatePlan = {
  method: 'resources/templates/list',
  key: ({ uriTemplate }: ResourceTemplateDefinition) => uriTemplate,
  list: (templates: readonly ResourceTemplateDefinition[]) => ({
    resourceTemplates: templates.map(
      ({ uriTemplate, name, title, description, mimeType, relayed, ...last }) =>
        relayed !== undefined
          ? (relayed.entry as unknown as ResourceTemplate)
          : given({ uriTemplate, name, title, description, mimeType, ...hintsOf(last), ...shownLast(last) }),
    ),
  }),
} as const

const promptPlan = {
  method: 'prompts/list',
  key: ({ name }: PromptDefinition) => name,
  list: (prompts: readonly PromptDefinition[]) => ({
    prompts: prompts.map(({ name, title, description, arguments: listed, relayed, ...last }) => {
      if (relayed !== undefined) return relayed.entry as unknown as Prompt
      const args = listed.length > 0 ? (listed as PromptArgument[]) : undefined
      return given({ name, title, description, arguments: args, ...shownLast(last) })
    }),
  }),
} as const

const skillPlan = {
  method: 'skills/list',
  key: ({ entry }: SkillDefinition) => entry.uri,
  list: (skills: readonly SkillDefinition[]) => ({ skills: skills.map(({ entry }) => entry) }),
} as const

function folderPlan(uri: string) {
  return {
    method: 'resources/directory/read',
    of: uri,
    key: ({ resource }: SkillFolderChild) => resource.uri,
    list: (children: readonly SkillFolderChild[]) => ({
      resources: children.map(({ resource }) => resource),
    }),
  } as const
}

// types of the protocol are not readonly
function hintsOf({ annotations }: Pick<ResourceDefinition, 'annotations'>) {
  return { annotations: annotations as Annotations | undefined }
}

function shownLast({ icons, meta }: Pick<ToolDefinition, 'icons' | 'meta'>) {
  return { icons: icons as Icon[] | undefined, _meta: meta as Meta | undefined }
}

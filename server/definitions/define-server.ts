import { isObject } from '../../protocol/wire/json.js'
import type { CacheHints, Icon, Implementation } from '../../protocol/messages/base.js'
import { show } from '../../runtime/base/errors.js'
import type { ToolContext } from '../context/context.js'
import { isPrompt, type PromptDefinition } from './define-prompt.js'
import {
  isResource,
  isResourceTemplate,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from './define-resource.js'
import { checkToolName, isTool, type ToolDefinition } from './define-tool.js'
import { type CacheOptions, notKept, readCache } from './cache-options.js'
import { readHooks, type SessionContext, type SessionHooks } from './session-hooks.js'
import { badDefinition, checkFields, checkOptions, checkTexts, given } from './definition.js'
import {
  type LowLevel,
  type LowLevelOptions,
  lowLevelFields,
  type NoticeContext,
  readLowLevel,
} from './low-level.js'
import { ServerError } from '../base/errors.js'
import { type Named, namedBy } from './named.js'
import { readIcons } from './presented.js'
import type { Immutable } from './schema-arguments.js'

/** A server as its author writes it. */
export interface ServerDefinitionOptions<
  Context = ToolContext,
  Notice = NoticeContext,
  Beginning extends { readonly assigns: unknown } = SessionContext,
  InitArg = unknown,
> extends LowLevelOptions<Context, Notice> {
  /** What the server calls itself, and what its tree is named after. */
  readonly name: string
  readonly version: string
  /** A name for people. */
  readonly title?: string
  readonly description?: string
  /** How to use the server, for the model. */
  readonly instructions?: string
  /** Pictures to show beside its name, from `https:` or `data:`. */
  readonly icons?: readonly Immutable<Icon>[]
  /** Where people read about it. */
  readonly websiteUrl?: string
  /**
   * What is declared is what is there: an empty array for a kind that only comes at run time. Tools are
   * declared when nothing is. By their names, such as the exports of a module
   * (`import * as tools from './tools.js'`), tools without a name are called by their keys, in snake case.
   */
  readonly tools?: Named<ToolDefinition, ToolDefinition<undefined>>
  readonly resources?: Named<ResourceDefinition, ResourceDefinition<undefined>>
  /** Asked in this order for a uri that no resource has. */
  readonly resourceTemplates?: Named<ResourceTemplateDefinition, ResourceTemplateDefinition<undefined>>
  readonly prompts?: Named<PromptDefinition, PromptDefinition<undefined>>
  /**
   * Whether clients may be sent log messages (`ctx.log`) and choose their level. Default false: `ctx.log`
   * tells nobody.
   */
  readonly logging?: boolean
  /**
   * How long clients of 2026-07-28 may keep what the server lists and reads, unless a resource says
   * otherwise: `ttl` in ms, and whether `public` caches may, which serve others as well. Default: not at all
   * (0, `private`). A change is told in any case.
   */
  readonly cache?: CacheOptions
  /** What is done at both ends of each session. */
  readonly session?: SessionHooks<Beginning, InitArg>
}

/** A checked and frozen server: data, not a process; start it as often as you like. */
export interface ServerDefinition {
  readonly kind: 'server'
  /** Who the server says it is. */
  readonly info: Readonly<Implementation>
  readonly instructions: string | undefined
  readonly tools: readonly ToolDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly resourceTemplates: readonly ResourceTemplateDefinition[]
  readonly prompts: readonly PromptDefinition[]
  readonly session: SessionHooks | undefined
  readonly lowLevel: LowLevel
  readonly cache: CacheHints
  /** Which capabilities clients are told of. */
  readonly declared: Readonly<Record<'tools' | 'resources' | 'prompts' | 'logging', boolean>>
}

/** What each kind of component is made with, and what no two of them share. */
const kinds = Object.freeze({
  tools: { is: isTool, maker: 'defineTool', one: 'tool', key: 'name' },
  resources: { is: isResource, maker: 'defineResource', one: 'resource', key: 'uri' },
  resourceTemplates: {
    is: isResourceTemplate,
    maker: 'defineResourceTemplate',
    one: 'template',
    key: 'uriTemplate',
  },
  prompts: { is: isPrompt, maker: 'definePrompt', one: 'prompt', key: 'name' },
} as const)

const fields = new Set([
  'name',
  'version',
  'title',
  'description',
  'icons',
  'websiteUrl',
  'instructions',
  ...Object.keys(kinds),
  'logging',
  'session',
  'cache',
  ...lowLevelFields,
])

/** Defines a server. Throws BAD_DEFINITION, naming the server and the field. */
export function defineServer(options: ServerDefinitionOptions): ServerDefinition {
  checkOptions('server', options)
  const { name, version, title, description, instructions, websiteUrl, logging } =
    options as ServerDefinitionOptions
  if (typeof name !== 'string' || name === '')
    throw badDefinition('server', 'name', 'a non-empty string', name)
  const about = `server ${show(name)}`
  checkFields(about, options, fields)
  if (typeof version !== 'string' || version === '')
    throw badDefinition(about, 'version', 'a non-empty string', version)
  checkTexts(about, { title, description, instructions, websiteUrl })
  const icons = readIcons(about, options.icons) as Icon[] | undefined
  if (logging !== undefined && typeof logging !== 'boolean')
    throw badDefinition(about, 'logging', 'true or false', logging)
  const info = { name, version, ...given({ title, description, websiteUrl, icons }) }
  return Object.freeze({
    kind: 'server',
    info: Object.freeze(info),
    instructions,
    tools: readComponents<ToolDefinition>(about, 'tools', options),
    resources: readComponents<ResourceDefinition>(about, 'resources', options),
    resourceTemplates: readComponents<ResourceTemplateDefinition>(about, 'resourceTemplates', options),
    prompts: readComponents<PromptDefinition>(about, 'prompts', options),
    session: readHooks(about, options.session),
    lowLevel: readLowLevel(about, options),
    cache: readCache(about, options.cache) ?? notKept,
    declared: declaredBy(options as ServerDefinitionOptions),
  })
}

/** Whether this is what `defineServer` returns. */
export function isServer(value: unknown): value is ServerDefinition {
  return isObject(value) && value.kind === 'server' && Object.isFrozen(value)
}

function readComponents<Component>(
  about: string,
  kind: keyof typeof kinds,
  options: Readonly<Record<string, unknown>>,
): readonly Component[] {
  const { is, maker, one, key } = kinds[kind]
  const components = options[kind] ?? []
  const isList = Array.isArray(components)
  if (!isList && !isObject(components))
    throw badDefinition(about, kind, `an array of ${one}s, or an object of them`, components)
  const known = new Set<unknown>()
  const all = Object.entries(components).map(([own, component]) => {
    const field = isList ? `${kind}[${own}]` : `${kind}.${own}`
    if (!is(component)) throw badDefinition(about, field, `what ${maker} returns`, component)
    const named = isList ? component : namedBy(component, own)
    if (named.name === undefined) throw withoutName(about, { kind, field, one }, component)
    if (named.kind === 'tool') checkToolName(named.name)
    const unique: unknown = Reflect.get(named, key)
    if (known.has(unique)) throw badDefinition(about, field, `a ${key} that no other ${one} has`, unique)
    known.add(unique)
    return named as Component
  })
  return Object.freeze(all)
}

/** Its keys would say nothing: they are the same for all. */
function withoutName(
  about: string,
  { kind, field, one }: { readonly kind: string; readonly field: string; readonly one: string },
  { description, title = description }: { readonly title?: unknown; readonly description?: unknown },
): ServerError {
  const which = title === undefined ? '' : ` (${show(title)})`
  const remedy = `give it a name, or list it by one: ${kind}: { myName: ... }`
  const problem = `${about}: ${field}: expected a ${one} with a name, got one without${which}: ${remedy}`
  return new ServerError('BAD_DEFINITION', problem, { data: { field } })
}

function declaredBy(options: ServerDefinitionOptions): ServerDefinition['declared'] {
  const { resourceTemplates, logging = false } = options
  const resources = options.resources !== undefined || resourceTemplates !== undefined
  const prompts = options.prompts !== undefined
  return Object.freeze({
    tools: options.tools !== undefined || !(resources || prompts),
    resources,
    prompts,
    logging,
  })
}

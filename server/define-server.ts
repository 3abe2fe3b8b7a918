import { isObject } from '../protocol/json.js'
import type { Implementation } from '../protocol/types/base.js'
import { show } from '../runtime/errors.js'
import { isPrompt, type PromptDefinition } from './define-prompt.js'
import {
  isResource,
  isResourceTemplate,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from './define-resource.js'
import { isTool, type ToolDefinition } from './define-tool.js'
import { readHooks, type SessionHooks } from './session-hooks.js'
import { badDefinition, checkFields, checkOptions, checkTexts } from './definition.js'

/** A server as its author writes it. */
export interface ServerDefinitionOptions {
  /** What the server calls itself, and what its tree is named after. */
  readonly name: string
  readonly version: string
  /** A name for people. */
  readonly title?: string
  readonly description?: string
  /** How to use the server, for the model. */
  readonly instructions?: string
  /** What is declared is what is there: an empty array for a kind that only comes at run time. Tools are declared when nothing is. */
  readonly tools?: readonly ToolDefinition[]
  readonly resources?: readonly ResourceDefinition[]
  /** Asked in this order for a uri that no resource has. */
  readonly resourceTemplates?: readonly ResourceTemplateDefinition[]
  readonly prompts?: readonly PromptDefinition[]
  /** Whether clients may be sent log messages (`ctx.log`) and choose their level. Default false: `ctx.log` tells nobody. */
  readonly logging?: boolean
  /** What is done at both ends of each session. */
  readonly session?: SessionHooks
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
  'instructions',
  ...Object.keys(kinds),
  'logging',
  'session',
])

/** Defines a server. Throws BAD_DEFINITION, naming the server and the field. */
export function defineServer(options: ServerDefinitionOptions): ServerDefinition {
  checkOptions('server', options)
  const { name, version, title, description, instructions, logging } = options as ServerDefinitionOptions
  if (typeof name !== 'string' || name === '')
    throw badDefinition('server', 'name', 'a non-empty string', name)
  const about = `server ${show(name)}`
  checkFields(about, options, fields)
  if (typeof version !== 'string' || version === '')
    throw badDefinition(about, 'version', 'a non-empty string', version)
  checkTexts(about, { title, description, instructions })
  if (logging !== undefined && typeof logging !== 'boolean')
    throw badDefinition(about, 'logging', 'true or false', logging)
  const info = {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
  return Object.freeze({
    kind: 'server',
    info: Object.freeze(info),
    instructions,
    tools: readComponents<ToolDefinition>(about, 'tools', options),
    resources: readComponents<ResourceDefinition>(about, 'resources', options),
    resourceTemplates: readComponents<ResourceTemplateDefinition>(about, 'resourceTemplates', options),
    prompts: readComponents<PromptDefinition>(about, 'prompts', options),
    session: readHooks(about, options.session),
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
  if (!Array.isArray(components)) throw badDefinition(about, kind, `an array of ${one}s`, components)
  const known = new Set<unknown>()
  for (const [index, component] of components.entries()) {
    const field = `${kind}[${index}]`
    if (!is(component)) throw badDefinition(about, field, `what ${maker} returns`, component)
    const own: unknown = Reflect.get(component, key)
    if (known.has(own)) throw badDefinition(about, field, `a ${key} that no other ${one} has`, own)
    known.add(own)
  }
  return Object.freeze([...components])
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

import { isObject } from '../../protocol/wire/json.js'
import type { CacheHints, Icon, Implementation } from '../../protocol/messages/base.js'
import type { ServerTypes } from '../../protocol/messages/server-types.js'
import { show } from '../../runtime/base/errors.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { ToolContext } from '../context/context.js'
import { isPrompt, type PromptDefinition } from './define-prompt.js'
import {
  isResource,
  isResourceTemplate,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from './define-resource.js'
import { isTool, isToolName, type ToolDefinition, toolNames } from './define-tool.js'
import { type CacheOptions, notKept, readCache } from './cache-options.js'
import { readHooks, type SessionContext, type SessionHooks } from './session-hooks.js'
import {
  aboutNamed,
  definitionError,
  definitionGuard,
  type DefinitionReaders,
  definitionReaders,
  given as present,
} from './definition.js'
import {
  type LowLevel,
  type LowLevelOptions,
  lowLevelFields,
  type NoticeContext,
  readLowLevel,
} from './low-level.js'
import { readIcons } from './component.js'
import type { Immutable } from './described.js'
import { type ExtensionSettings, readExtensions } from './extensions.js'
import type { GatewayPlan } from './gateway-options.js'
import type { TypesOfTools } from './tool-types.js'
import { isSkills, type SkillsDefinition } from './skills.js'

/** Components of one kind: in an array, each with a name, or in an object, where keys name those without. */
export type Named<Whole, Nameless> = readonly Whole[] | { readonly [key: string]: Whole | Nameless }

/** What `defineServer` takes. */
export interface ServerDefinitionOptions<
  Context = ToolContext,
  Notice = NoticeContext,
  Beginning extends { readonly assigns: unknown } = SessionContext,
  InitArg = unknown,
> extends LowLevelOptions<Context, Notice> {
  /** What the server calls itself. Its tree is named after it, too. */
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
   * Capabilities follow the keys you pass: `[]` declares a kind that is filled at run time. Without `tools`,
   * resources and prompts, tools are declared. In an object, such as the exports of a module
   * (`import * as tools from './tools.js'`), the key names a tool without a name, in snake case; any other keeps
   * its own.
   */
  readonly tools?: AnyTools
  readonly resources?: Named<ResourceDefinition, ResourceDefinition<undefined>>
  /** Tried in this order for a uri that no resource has. */
  readonly resourceTemplates?: Named<ResourceTemplateDefinition, ResourceTemplateDefinition<undefined>>
  readonly prompts?: Named<PromptDefinition, PromptDefinition<undefined>>
  /**
   * Whether clients get log messages (`ctx.log`) and choose their level. Default false: `ctx.log` does
   * nothing.
   */
  readonly logging?: boolean
  /**
   * How long clients of 2026-07-28 may cache lists and reads, unless a resource says otherwise: `ttl` in ms,
   * and whether shared caches may, too (`scope: 'public'`). Default: not at all. Changes are told anyway.
   */
  readonly cache?: CacheOptions
  /** Agent Skills, read by `skillsFrom` (SEP-2640). Declares `io.modelcontextprotocol/skills`, and resources. */
  readonly skills?: SkillsDefinition
  /**
   * Settings of extensions by id, such as `{ 'com.example/search': {} }`: declared to clients of every revision.
   * Their methods stand in `methods`, with `extension`. Default none.
   */
  readonly extensions?: ExtensionSettings
  /** Run at the beginning and the end of each session. */
  readonly session?: SessionHooks<Beginning, InitArg>
}

/** The tools of a server, in whichever way they are listed. */
export type AnyTools = Named<ToolDefinition, ToolDefinition<undefined>>

/** What a compiler knows of a server with these tools. */
export interface ServedBy<Tools> extends ServerTypes {
  readonly tools: TypesOfTools<Tools>
}

/** A checked and frozen server: data, for any number of running servers. */
export interface ServerDefinition<Types extends ServerTypes = ServerTypes> {
  readonly kind: 'server'
  /** For compilers only: what its tools take and return (`startClient<typeof definition>`). Never there. */
  readonly types?: Types
  readonly info: Readonly<Implementation>
  readonly instructions: string | undefined
  readonly tools: readonly ToolDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly resourceTemplates: readonly ResourceTemplateDefinition[]
  readonly prompts: readonly PromptDefinition[]
  readonly skills: SkillsDefinition | undefined
  /** All that is declared, built-in ones among them. */
  readonly extensions: ExtensionSettings
  readonly session: SessionHooks | undefined
  readonly lowLevel: LowLevel
  readonly cache: CacheHints
  /** Servers behind this one. */
  readonly gateway?: GatewayPlan
  readonly declared: Readonly<Record<'tools' | 'resources' | 'prompts' | 'logging', boolean>>
}

/** How each kind of component is made, and its field that no two of them share. */
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
  ...['name', 'version', 'title', 'description', 'icons', 'websiteUrl', 'instructions'],
  ...Object.keys(kinds),
  ...['skills', 'extensions', 'logging', 'session', 'cache'],
  ...lowLevelFields,
])

/** Defines a server. Throws BAD_DEFINITION, naming the server and the field. */
export function defineServer<const Tools extends AnyTools = readonly []>(
  options: ServerDefinitionOptions & { readonly tools?: Tools },
): ServerDefinition<ServedBy<Tools>> {
  const { bad, readText } = definitionReaders('server')
  if (!isObject(options))
    throw bad('options', 'an object, as in defineServer({ name, version, tools: [...] })', options)
  const given: Readonly<Record<string, unknown>> = { ...options }
  const name = readText(given.name, 'name')
  const read = definitionReaders(aboutNamed('server', name))
  read.checkFields(given, fields)
  const version = read.readText(given.version, 'version')
  const { title, description, instructions, websiteUrl } = options
  read.checkTexts({ title, description, instructions, websiteUrl })
  const icons = readIcons(read, options.icons) as Icon[] | undefined
  const logging = read.readFlag(options.logging, 'logging', false)
  const skills = readSkills(read, options.skills)
  const lowLevel = readLowLevel(read, given)
  return Object.freeze({
    kind: 'server',
    info: Object.freeze({ name, version, ...present({ title, description, websiteUrl, icons }) }),
    instructions,
    tools: readComponents<ToolDefinition>(read, 'tools', given),
    resources: withSkills(read, readComponents<ResourceDefinition>(read, 'resources', given), skills),
    resourceTemplates: readComponents<ResourceTemplateDefinition>(read, 'resourceTemplates', given),
    prompts: readComponents<PromptDefinition>(read, 'prompts', given),
    skills,
    extensions: readExtensions(read, options.extensions, { skills, lowLevel }),
    session: readHooks(read, options.session),
    lowLevel,
    cache: readCache(read, options.cache) ?? notKept,
    declared: declaredBy(options, logging),
  })
}

export const isServer = definitionGuard<ServerDefinition>('server')

/** A key in snake case: `add_numbers` for `addNumbers` and `AddNumbers`, `read_url` for `readURL`. */
export function nameFrom(key: string): string {
  return key
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
}

function namedBy<Definition>(definition: Definition, key: string): Definition {
  if (!isObject(definition) || definition.name !== undefined) return definition
  return Object.freeze({ ...definition, name: nameFrom(key) })
}

function readComponents<Component>(
  { about, bad }: DefinitionReaders,
  kind: keyof typeof kinds,
  options: Readonly<Record<string, unknown>>,
): readonly Component[] {
  const { is, maker, one, key } = kinds[kind]
  const components = options[kind] ?? []
  const isList = Array.isArray(components)
  if (!isList && (!isObject(components) || isPromise(components)))
    throw bad(kind, `an array of ${one}s, or an object of them`, components)
  const known = new Set<unknown>()
  const all = Object.entries(components).map(([own, component]) => {
    const field = isList ? `${kind}[${own}]` : `${kind}.${own}`
    if (!is(component)) {
      const [other] = Object.entries(kinds).find((each) => each[1].is(component)) ?? []
      const hint = other === undefined ? '' : ` (put this one into ${other})`
      throw bad(field, `what ${maker} returns${hint}`, component)
    }
    const named = isList ? component : namedBy(component, own)
    if (named.name === undefined) {
      const title = component.title ?? component.description
      const which = title === undefined ? '' : ` (${show(title)})`
      const remedy = `give it a name, or list it by one: ${kind}: { myName: ... }`
      const problem = `${field}: expected a ${one} with a name, got one without${which}: ${remedy}`
      throw definitionError(about, field, problem)
    }
    if (named.kind === 'tool' && !isToolName(named.name))
      throw definitionReaders('tool').bad('name', toolNames, named.name)
    const unique: unknown = Reflect.get(named, key)
    if (known.has(unique)) throw bad(field, `a ${key} that no other ${one} has`, unique)
    known.add(unique)
    return named as Component
  })
  return Object.freeze(all)
}

function readSkills({ bad }: DefinitionReaders, skills: unknown): SkillsDefinition | undefined {
  if (skills === undefined || isSkills(skills)) return skills
  throw bad('skills', 'what skillsFrom resolves to', skills)
}

/** Lists each skill by its `SKILL.md`; the entry of a skill names its other files. */
function withSkills(
  { bad }: DefinitionReaders,
  resources: readonly ResourceDefinition[],
  skills: SkillsDefinition | undefined,
): readonly ResourceDefinition[] {
  if (skills === undefined) return resources
  const taken = resources.findIndex(({ uri }) => skills.files.has(uri))
  if (taken !== -1)
    throw bad(`resources[${taken}]`, 'a uri that no file of a skill has', resources[taken]?.uri)
  const mains = skills.skills.flatMap(({ entry }) => skills.files.get(entry.uri) ?? [])
  return Object.freeze([...resources, ...mains])
}

function declaredBy(options: ServerDefinitionOptions, logging: boolean): ServerDefinition['declared'] {
  const { resources: listed, resourceTemplates, skills } = options
  const resources = [listed, resourceTemplates, skills].some((kind) => kind !== undefined)
  const prompts = options.prompts !== undefined
  const tools = options.tools !== undefined || !(resources || prompts)
  return Object.freeze({ tools, resources, prompts, logging })
}

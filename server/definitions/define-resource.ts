import { isObject } from '../../protocol/wire/json.js'
import type { Annotations, CacheHints } from '../../protocol/messages/base.js'
import {
  parseUriTemplate,
  type TemplateVariables,
  type UriTemplate,
} from '../../protocol/uri-template/uri-template.js'
import { show } from '../../runtime/base/errors.js'
import { type CacheOptions, readCache } from './cache-options.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from '../context/context.js'
import {
  badDefinition,
  checkFields,
  checkFunction,
  checkOptions,
  checkTexts,
  checkTimeout,
} from './definition.js'
import type { NameOf } from './define-tool.js'
import { orBad } from './definition-schema.js'
import {
  type Presented,
  type PresentedDefinition,
  presentedFields,
  readHints,
  readPresented,
} from './presented.js'
import type { ResourceReturn } from '../results/results.js'
import type { Immutable } from './schema-arguments.js'

interface Described extends Presented {
  /**
   * What programs call it. Left out, it is named by whoever lists it:
   * `defineServer({ resources: { appConfig } })` makes it `app_config`.
   */
  readonly name?: string
  /** For whom it is, how important (0 to 1), and since when (ISO 8601). */
  readonly annotations?: Immutable<Annotations>
  /** Such as `text/plain`: also of what is read, unless the contents say otherwise. */
  readonly mimeType?: string
  /**
   * Milliseconds a read may take before it is stopped and answered with an error. Default: the server's
   * `requestTimeout`.
   */
  readonly timeout?: number
  /** How long clients of 2026-07-28 may keep what is read. Default: as the server says. */
  readonly cache?: CacheOptions
}

/** A resource as its author writes it. */
export interface ResourceOptions<Context = ToolContext> extends Described {
  /** What clients read it by. */
  readonly uri: string
  /** Bytes before any encoding, if that is known. */
  readonly size?: number
  /**
   * Reads it, as a task of its own: a throw costs this request and nothing else. Text, bytes, or contents;
   * `undefined` says that there is no such resource any more. Throw `McpError` or `ToolError` for what the
   * client is to be told.
   */
  read(ctx: Context): ResourceReturn | Promise<ResourceReturn>
}

/** A family of resources as its author writes it. */
export interface ResourceTemplateOptions<Template extends string = string, Context = ToolContext>
  extends Described {
  /** Such as `file:///{+path}`: `{name}` takes one step of a path, `{+name}` any number of them. */
  readonly uriTemplate: Template
  /** Reads the resource with these variables, like `read` of a resource. */
  read(variables: TemplateVariables<Template>, ctx: Context): ResourceReturn | Promise<ResourceReturn>
  /** Suggests values for the variables. */
  readonly complete?: Completers<keyof TemplateVariables<Template> & string, Context>
}

/** What every checked resource, and family of them, has. */
interface DescribedDefinition<Name> extends PresentedDefinition {
  readonly name: Name
  readonly annotations: Readonly<Annotations> | undefined
  readonly mimeType: string | undefined
  readonly timeout: number | undefined
  readonly cache: CacheHints | undefined
}

/** A checked and frozen resource: data, to be used by any number of servers. */
export interface ResourceDefinition<Name extends string | undefined = string>
  extends DescribedDefinition<Name> {
  readonly kind: 'resource'
  readonly uri: string
  readonly size: number | undefined
  readonly read: (ctx: ToolContext) => unknown
}

/** A checked and frozen family of resources: data, to be used by any number of servers. */
export interface ResourceTemplateDefinition<Name extends string | undefined = string>
  extends DescribedDefinition<Name> {
  readonly kind: 'resourceTemplate'
  readonly uriTemplate: string
  readonly matcher: UriTemplate
  readonly read: (variables: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const common = ['name', ...presentedFields, 'annotations', 'mimeType', 'timeout', 'cache', 'read'] as const
const resourceFields = new Set(['uri', 'size', ...common])
const templateFields = new Set(['uriTemplate', 'complete', ...common])

/** Defines a resource. Throws BAD_DEFINITION, naming the resource and the field. */
export function defineResource<Name extends string | undefined = undefined>(
  options: ResourceOptions & { readonly name?: Name },
): ResourceDefinition<NameOf<Name>> {
  checkOptions('resource', options)
  const { uri, size, read } = options as ResourceOptions
  if (typeof uri !== 'string' || !URL.canParse(uri))
    throw badDefinition('resource', 'uri', 'an absolute uri', uri)
  const about = `resource ${show(uri)}`
  checkFields(about, options, resourceFields)
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0))
    throw badDefinition(about, 'size', 'a whole number of bytes', size)
  const described = readDescribed<NameOf<Name>>(about, options)
  return Object.freeze({ kind: 'resource', uri, ...described, size, read: read.bind(options) })
}

/**
 * Defines a family of resources; the variables of `read` are inferred from `uriTemplate`. Throws
 * BAD_DEFINITION, naming it and the field.
 */
export function defineResourceTemplate<
  const Template extends string,
  Name extends string | undefined = undefined,
>(
  options: ResourceTemplateOptions<Template> & { readonly name?: Name },
): ResourceTemplateDefinition<NameOf<Name>> {
  checkOptions('resource template', options)
  const given = options as ResourceTemplateOptions<Template>
  const { uriTemplate, read, complete } = given
  if (typeof uriTemplate !== 'string')
    throw badDefinition('resource template', 'uriTemplate', 'a string', uriTemplate)
  const about = `resource template ${show(uriTemplate)}`
  checkFields(about, given, templateFields)
  const described = readDescribed<NameOf<Name>>(about, options)
  const matcher = orBad({ about, field: 'uriTemplate' }, () => parseUriTemplate(uriTemplate))
  return Object.freeze({
    kind: 'resourceTemplate',
    uriTemplate,
    matcher,
    ...described,
    read: read.bind(given) as ResourceTemplateDefinition['read'],
    completers: readCompleters(about, complete, matcher.variables),
  })
}

/** Whether this is what `defineResource` returns. */
export function isResource(value: unknown): value is ResourceDefinition<string | undefined> {
  return isObject(value) && value.kind === 'resource' && Object.isFrozen(value)
}

/** Whether this is what `defineResourceTemplate` returns. */
export function isResourceTemplate(value: unknown): value is ResourceTemplateDefinition<string | undefined> {
  return isObject(value) && value.kind === 'resourceTemplate' && Object.isFrozen(value)
}

function readDescribed<Name>(
  about: string,
  options: Readonly<Record<string, unknown>>,
): DescribedDefinition<Name> {
  const { name, annotations, mimeType, timeout, cache, read } = options
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw badDefinition(about, 'name', 'a non-empty string', name)
  checkTexts(about, { mimeType })
  checkTimeout(about, timeout)
  checkFunction(about, 'read', read)
  return {
    name: name as Name,
    ...readPresented(about, options),
    annotations: readHints(about, annotations),
    mimeType: mimeType as string | undefined,
    timeout: timeout as number | undefined,
    cache: readCache(about, cache),
  }
}

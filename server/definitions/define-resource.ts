import { parseZoned } from '../../protocol/schema/fields/calendar.js'
import { isObject } from '../../protocol/wire/json.js'
import type { Annotations, CacheHints } from '../../protocol/messages/base.js'
import {
  parseUriTemplate,
  type TemplateVariables,
  type UriTemplate,
} from '../../protocol/uri-template/uri-template.js'
import { type CacheOptions, readCache } from './cache-options.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from '../context/context.js'
import {
  type ComponentDefinition,
  type ComponentKind,
  type Isolated,
  type NameOf,
  type NotIsolated,
  type Presented,
  readComponent,
} from './component.js'
import { type DefinitionReaders, definitionGuard, definitionReaders } from './definition.js'
import { readProtocol, type Immutable } from './described.js'
import type { ResourceReturn } from '../results/results.js'

interface DescribedOptions extends Presented {
  /** Its name for programs. Default: its key in `defineServer`, in snake case (`app_config`). */
  readonly name?: string
  /** Its audience, its priority (0 to 1), and its last change (ISO 8601). */
  readonly annotations?: Immutable<Annotations>
  /** Such as `text/plain`. The contents have it, too, unless they say otherwise. */
  readonly mimeType?: string
  /** How long clients of 2026-07-28 may cache the contents. Default: as the server says. */
  readonly cache?: CacheOptions
}

interface LocatedOptions extends DescribedOptions {
  readonly uri: string
  /** Bytes before any encoding. */
  readonly size?: number
}

/** A resource: what `defineResource` takes. */
export interface ResourceOptions<Context = ToolContext> extends LocatedOptions, NotIsolated {
  /**
   * Reads it, in a task of its own: a throw fails only this request. Returns text, bytes or contents;
   * `undefined` if the resource does not exist any more. Throw `McpError` or `ToolError` for an error that
   * the client should read.
   */
  read(ctx: Context): ResourceReturn | Promise<ResourceReturn>
}

/** A resource that is read in a thread or process of its own: what `defineResource` takes. */
export interface IsolatedResourceOptions extends LocatedOptions, Isolated {
  readonly read?: undefined
}

interface TemplateOptions<Template extends string, Context> extends DescribedOptions {
  /** Such as `file:///{+path}`: `{name}` matches one segment of a path, `{+name}` any number of them. */
  readonly uriTemplate: Template
  /** Suggests values for the variables. */
  readonly complete?: Completers<keyof TemplateVariables<Template> & string, Context>
}

/** A family of resources: what `defineResourceTemplate` takes. */
export interface ResourceTemplateOptions<Template extends string = string, Context = ToolContext>
  extends TemplateOptions<Template, Context>,
    NotIsolated {
  /** Reads the resource of these variables, like `read` of a resource. */
  read(variables: TemplateVariables<Template>, ctx: Context): ResourceReturn | Promise<ResourceReturn>
}

/**
 * A family of resources that is read elsewhere: what `defineResourceTemplate` takes. `complete` runs here.
 */
export interface IsolatedResourceTemplateOptions<Template extends string = string, Context = ToolContext>
  extends TemplateOptions<Template, Context>,
    Isolated {
  readonly read?: undefined
}

interface DescribedDefinition<Name> extends ComponentDefinition<Name> {
  readonly annotations: Readonly<Annotations> | undefined
  readonly mimeType: string | undefined
  readonly cache: CacheHints | undefined
}

/** A checked and frozen resource: data, for any number of servers. */
export interface ResourceDefinition<Name extends string | undefined = string>
  extends DescribedDefinition<Name> {
  readonly kind: 'resource'
  readonly uri: string
  readonly size: number | undefined
  readonly read: (ctx: ToolContext) => unknown
}

/** A checked and frozen resource template: data, for any number of servers. */
export interface ResourceTemplateDefinition<Name extends string | undefined = string>
  extends DescribedDefinition<Name> {
  readonly kind: 'resourceTemplate'
  readonly uriTemplate: string
  readonly matcher: UriTemplate
  readonly read: (variables: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const describedFields = ['annotations', 'mimeType', 'cache']
const hintFields = new Set(['audience', 'priority', 'lastModified'])

const resourceKind: ComponentKind = {
  kind: 'resource',
  key: 'uri',
  expected: 'an absolute uri, without variables (those are for defineResourceTemplate)',
  fits: (uri) => typeof uri === 'string' && URL.canParse(uri) && !/\{[^{}]+\}/.test(uri),
  handler: 'read',
  fields: ['size', ...describedFields],
}

const templateKind: ComponentKind = {
  kind: 'resource template',
  key: 'uriTemplate',
  expected: 'a string',
  fits: (uriTemplate) => typeof uriTemplate === 'string',
  handler: 'read',
  fields: ['complete', ...describedFields],
}

/** Defines a resource. Throws BAD_DEFINITION, naming the resource and the field. */
export function defineResource<Name extends string | undefined = undefined>(
  options: (ResourceOptions | IsolatedResourceOptions) & { readonly name?: Name },
): ResourceDefinition<NameOf<Name>> {
  const { read, common, handle } = readComponent<NameOf<Name>>(resourceKind, options)
  const { uri, size } = options
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0))
    throw read.bad('size', 'a whole number of bytes', size)
  return Object.freeze({
    kind: 'resource',
    uri,
    ...common,
    ...readDescribed(read, options),
    size,
    read: handle as ResourceDefinition['read'],
  })
}

/** Defines a family of resources. Throws BAD_DEFINITION, naming the template and the field. */
export function defineResourceTemplate<
  const Template extends string,
  Name extends string | undefined = undefined,
>(
  options: (ResourceTemplateOptions<Template> | IsolatedResourceTemplateOptions<Template>) & {
    readonly name?: Name
  },
): ResourceTemplateDefinition<NameOf<Name>> {
  const { read, common, handle } = readComponent<NameOf<Name>>(templateKind, options)
  const { uriTemplate, complete } = options
  const matcher = readProtocol(read, 'uriTemplate', () => parseUriTemplate(uriTemplate))
  return Object.freeze({
    kind: 'resourceTemplate',
    uriTemplate,
    matcher,
    ...common,
    ...readDescribed(read, options),
    read: handle,
    completers: readCompleters(read, complete, matcher.variables),
  })
}

export const isResource = definitionGuard<ResourceDefinition<string | undefined>>('resource')

export const isResourceTemplate =
  definitionGuard<ResourceTemplateDefinition<string | undefined>>('resourceTemplate')

function readDescribed(read: DefinitionReaders, { annotations, mimeType, cache }: DescribedOptions) {
  read.checkTexts({ mimeType })
  return { annotations: readHints(read, annotations), mimeType, cache: readCache(read, cache) }
}

function readHints({ about, bad }: DefinitionReaders, hints: unknown): Readonly<Annotations> | undefined {
  if (hints === undefined) return undefined
  if (!isObject(hints)) throw bad('annotations', 'an object', hints)
  definitionReaders(`${about}: annotations`).checkFields(hints, hintFields)
  const { audience, priority, lastModified } = hints
  const isAudience = Array.isArray(audience) && audience.every((who) => who === 'user' || who === 'assistant')
  if (audience !== undefined && !isAudience)
    throw bad('annotations.audience', 'an array of user and assistant', audience)
  if (priority !== undefined && !(typeof priority === 'number' && priority >= 0 && priority <= 1))
    throw bad('annotations.priority', 'a number from 0 to 1', priority)
  const isMoment = typeof lastModified === 'string' && parseZoned(lastModified) !== undefined
  if (lastModified !== undefined && !isMoment)
    throw bad('annotations.lastModified', 'a moment such as 2025-01-12T15:00:58Z', lastModified)
  return Object.freeze({
    ...hints,
    ...(isAudience && { audience: Object.freeze([...audience]) }),
  }) as Readonly<Annotations>
}

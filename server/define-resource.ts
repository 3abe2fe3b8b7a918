import { ProtocolError } from '../protocol/errors.js'
import { isObject } from '../protocol/json.js'
import { parseUriTemplate, type TemplateVariables, type UriTemplate } from '../protocol/uri-template.js'
import { show } from '../runtime/errors.js'
import { type Completers, readCompleters } from './completer.js'
import type { ToolContext } from './context.js'
import {
  badDefinition,
  checkFields,
  checkFunction,
  checkOptions,
  checkTexts,
  checkTimeout,
} from './definition.js'
import { ServerError } from './errors.js'
import type { ResourceReturn } from './results.js'

interface Described {
  /** What programs call it. */
  readonly name: string
  /** A name for people. */
  readonly title?: string
  readonly description?: string
  /** Such as `text/plain`: also of what is read, unless the contents say otherwise. */
  readonly mimeType?: string
  /** Milliseconds a read may take before it is stopped and answered with an error. Default: the server's `requestTimeout`. */
  readonly timeout?: number
}

/** A resource as its author writes it. */
export interface ResourceOptions extends Described {
  /** What clients read it by. */
  readonly uri: string
  /** Bytes before any encoding, if that is known. */
  readonly size?: number
  /**
   * Reads it, as a task of its own: a throw costs this request and nothing else. Text, bytes, or contents; `undefined` says that there is no such
   * resource any more.
   */
  read(ctx: ToolContext): ResourceReturn | Promise<ResourceReturn>
}

/** A family of resources as its author writes it. */
export interface ResourceTemplateOptions<Template extends string = string> extends Described {
  /** Such as `file:///{+path}`: `{name}` takes one step of a path, `{+name}` any number of them. */
  readonly uriTemplate: Template
  /** Reads the resource with these variables, like `read` of a resource. */
  read(variables: TemplateVariables<Template>, ctx: ToolContext): ResourceReturn | Promise<ResourceReturn>
  /** Suggests values for the variables. */
  readonly complete?: Completers<keyof TemplateVariables<Template> & string>
}

/** A checked and frozen resource: data, to be used by any number of servers. */
export interface ResourceDefinition extends Readonly<Required<Pick<ResourceOptions, 'uri' | 'name'>>> {
  readonly kind: 'resource'
  readonly title: string | undefined
  readonly description: string | undefined
  readonly mimeType: string | undefined
  readonly size: number | undefined
  readonly timeout: number | undefined
  readonly read: (ctx: ToolContext) => unknown
}

/** A checked and frozen family of resources: data, to be used by any number of servers. */
export interface ResourceTemplateDefinition {
  readonly kind: 'resourceTemplate'
  readonly uriTemplate: string
  readonly matcher: UriTemplate
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly mimeType: string | undefined
  readonly timeout: number | undefined
  readonly read: (variables: never, ctx: ToolContext) => unknown
  readonly completers: Completers
}

const common = ['name', 'title', 'description', 'mimeType', 'timeout', 'read'] as const
const resourceFields = new Set(['uri', 'size', ...common])
const templateFields = new Set(['uriTemplate', 'complete', ...common])

/** Defines a resource. Throws BAD_DEFINITION, naming the resource and the field. */
export function defineResource(options: ResourceOptions): ResourceDefinition {
  checkOptions('resource', options)
  const { uri, name, title, description, mimeType, size, timeout, read } = options as ResourceOptions
  if (typeof uri !== 'string' || !URL.canParse(uri))
    throw badDefinition('resource', 'uri', 'an absolute uri', uri)
  const about = `resource ${show(uri)}`
  checkFields(about, options, resourceFields)
  checkDescribed(about, { name, title, description, mimeType, timeout, read })
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0))
    throw badDefinition(about, 'size', 'a whole number of bytes', size)
  return Object.freeze({
    kind: 'resource',
    uri,
    name,
    title,
    description,
    mimeType,
    size,
    timeout,
    read: read.bind(options as ResourceOptions),
  })
}

/** Defines a family of resources; the variables of `read` are inferred from `uriTemplate`. Throws BAD_DEFINITION, naming it and the field. */
export function defineResourceTemplate<const Template extends string>(
  options: ResourceTemplateOptions<Template>,
): ResourceTemplateDefinition {
  checkOptions('resource template', options)
  const given = options as ResourceTemplateOptions<Template>
  const { uriTemplate, name, title, description, mimeType, timeout, read } = given
  if (typeof uriTemplate !== 'string')
    throw badDefinition('resource template', 'uriTemplate', 'a string', uriTemplate)
  const about = `resource template ${show(uriTemplate)}`
  checkFields(about, given, templateFields)
  checkDescribed(about, { name, title, description, mimeType, timeout, read })
  const matcher = readTemplate(about, uriTemplate)
  return Object.freeze({
    kind: 'resourceTemplate',
    uriTemplate,
    matcher,
    name,
    title,
    description,
    mimeType,
    timeout,
    read: read.bind(given) as ResourceTemplateDefinition['read'],
    completers: readCompleters(about, given.complete, matcher.variables),
  })
}

/** Whether this is what `defineResource` returns. */
export function isResource(value: unknown): value is ResourceDefinition {
  return isObject(value) && value.kind === 'resource' && Object.isFrozen(value)
}

/** Whether this is what `defineResourceTemplate` returns. */
export function isResourceTemplate(value: unknown): value is ResourceTemplateDefinition {
  return isObject(value) && value.kind === 'resourceTemplate' && Object.isFrozen(value)
}

function checkDescribed(
  about: string,
  { name, title, description, mimeType, timeout, read }: Record<keyof Described | 'read', unknown>,
): void {
  if (typeof name !== 'string' || name === '') throw badDefinition(about, 'name', 'a non-empty string', name)
  checkTexts(about, { title, description, mimeType })
  checkTimeout(about, timeout)
  checkFunction(about, 'read', read)
}

function readTemplate(about: string, template: string): UriTemplate {
  try {
    return parseUriTemplate(template)
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw new ServerError('BAD_DEFINITION', `${about}: uriTemplate: ${cause.message}`, {
      cause,
      data: { field: 'uriTemplate' },
    })
  }
}

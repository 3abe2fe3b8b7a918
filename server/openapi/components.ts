import { McpError, errorCodes } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Schema } from '../../protocol/schema/schema.js'
import type { ToolAnnotations } from '../../protocol/messages/tools.js'
import { cut } from '../../runtime/base/cut.js'
import { messageOf } from '../../runtime/base/errors.js'
import { ServerError, ToolError } from '../base/errors.js'
import type { ToolContext } from '../context/context.js'
import {
  defineResource,
  defineResourceTemplate,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from '../definitions/define-resource.js'
import { defineTool, type ToolDefinition } from '../definitions/define-tool.js'
import type { Contents } from '../results/results.js'
import { type Api, type ApiAnswer, NoAnswer } from './api.js'
import { type ApiDocument, Memo, Unusable } from './document.js'
import type { Body, Operation, Parameter } from './operations.js'
import type { OpenApiSettings } from './options.js'
import { turnsOf } from './pace.js'
import { requestOf } from './request.js'
import { isTextual, mediaTypeOf, type Output, problemOf, resultOf, textOf } from './result.js'
import { fromEntries, SchemaLibrary, ToolSchemas } from './schemas.js'

/** Characters of the description of a tool, and of an argument. */
const maxDescription = 2_048
const maxArgumentDescription = 600
/** What a call has besides the time of its request, to say that it was not answered. */
const grace = 1_000

/** What makes components of operations. */
export interface Maker {
  readonly document: ApiDocument
  readonly api: Api
  readonly settings: OpenApiSettings
  /** Where the uris of resources begin: `api://host`. */
  readonly origin: string
}

/** What the schemas of all tools of a document are made with, and nobody needs afterwards. */
export class ToolLibrary {
  readonly document: ApiDocument
  readonly input: SchemaLibrary
  readonly output: SchemaLibrary
  /** Parameters of 2.0, which are their own schemas, without what is none. */
  readonly plain = new Memo<JsonObject, JsonObject>()
  /** Whether all that fits a schema is an object. */
  readonly objects = new Memo<unknown, boolean>()

  constructor({ document, settings }: Maker) {
    this.document = document
    const turn = turnsOf(settings.world)
    this.input = new SchemaLibrary(document, 'input', turn)
    this.output = new SchemaLibrary(document, 'output', turn)
  }
}

/** The tool of an operation. Throws Unusable for one whose arguments no schema can say. */
export function toolOf(operation: Operation, maker: Maker, library: ToolLibrary): ToolDefinition {
  const { name, summary } = operation
  const { settings } = maker
  const presented = {
    name,
    ...(summary !== undefined && { title: cut(summary, 120) }),
    description: descriptionOf(operation),
    annotations: annotationsOf(operation),
    timeout: settings.timeout + grace,
  }
  const schema = inputOf(operation, library)
  const described = settings.output ? outputOf(operation, library) : undefined
  const isWrapped = described?.isWrapped === true
  const made = contained(() =>
    defineTool({
      ...presented,
      run: (args, ctx) => callTool(operation, maker, args as JsonObject, ctx, described?.schema, isWrapped),
    }),
  )
  // its schemas are made of parts that were checked: defineTool would look through all of them again
  return Object.freeze({ ...made, schema, output: described?.schema })
}

async function callTool(
  operation: Operation,
  maker: Maker,
  args: JsonObject,
  ctx: ToolContext,
  schema: Schema | undefined,
  isWrapped: boolean,
) {
  const output: Output | undefined = schema && { schema, isWrapped }
  const answer = await callOperation(operation, maker, args, ctx)
  return resultOf(answer, output, `${maker.origin}${operation.path}`)
}

/** Rejects with ToolError where there is no answer. */
async function callOperation(
  operation: Operation,
  { api, settings }: Maker,
  args: JsonObject,
  ctx: ToolContext,
): Promise<ApiAnswer> {
  const request = requestOf(operation, args, `caduceus-${settings.world.id()}`)
  try {
    return await api.call(operation, request, ctx)
  } catch (error) {
    if (error instanceof NoAnswer)
      throw new ToolError(`${operation.name}: ${error.message}`, { cause: error })
    throw error
  }
}

/** The resource of an operation that needs nothing. Throws Unusable for any other. */
export function resourceOf(operation: Operation, maker: Maker): ResourceDefinition {
  const { name, summary, method, path, parameters, body } = operation
  if (method !== 'GET') throw new Unusable(`a resource is read by GET, and not by ${method}: make it a tool`)
  if (parameters.some(({ isRequired }) => isRequired) || body?.isRequired === true)
    throw new Unusable('a resource has no required parameters: make it a resourceTemplate, or a tool')
  const uri = `${maker.origin}${path}`
  return contained(() =>
    defineResource({
      name,
      uri,
      ...(summary !== undefined && { title: cut(summary, 120) }),
      description: descriptionOf(operation),
      timeout: maker.settings.timeout + grace,
      read: (ctx) => readOperation(operation, maker, {}, ctx, uri),
    }),
  )
}

/** The resource template of an operation whose parameters are texts. Throws Unusable for any other. */
export function templateOf(operation: Operation, maker: Maker): ResourceTemplateDefinition {
  const { name, summary, method, path, parameters, body } = operation
  if (method !== 'GET') throw new Unusable(`a resource is read by GET, and not by ${method}: make it a tool`)
  const inUri = parameters.filter((one) => one.in === 'path' || one.in === 'query')
  if (inUri.length === 0) throw new Unusable('it has no parameters in path and query: make it a resource')
  const others = parameters.some((one) => one.isRequired && !inUri.includes(one))
  if (others || body?.isRequired === true)
    throw new Unusable('the uri of a resource has only what path and query have: make it a tool')
  const variables = new Map(inUri.map((one) => [one.argument, one.argument.replaceAll('-', '_')]))
  if (new Set(variables.values()).size < variables.size)
    throw new Unusable('two of its parameters have one name in a uri template: make it a tool')
  const spelled = path.replaceAll(/\{([^{}]*)\}/g, (whole, given: string) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === given)
    return parameter === undefined ? whole : `{${variables.get(parameter.argument)}}`
  })
  const query = inUri.filter((one) => one.in === 'query').map(({ argument }) => variables.get(argument))
  const uriTemplate = `${maker.origin}${spelled}${query.length === 0 ? '' : `{?${query.join(',')}}`}`
  return contained(() =>
    defineResourceTemplate({
      name,
      uriTemplate,
      ...(summary !== undefined && { title: cut(summary, 120) }),
      description: descriptionOf(operation),
      timeout: maker.settings.timeout + grace,
      read: (values: Readonly<Record<string, unknown>>, ctx: ToolContext) => {
        const args = inUri.flatMap(({ argument }) => {
          const value = values[variables.get(argument) ?? '']
          return value === undefined ? [] : [[argument, value] as const]
        })
        return readOperation(operation, maker, fromEntries(args), ctx, undefined)
      },
    }),
  )
}

function contained<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (error instanceof ServerError && error.code === 'BAD_DEFINITION') throw new Unusable(messageOf(error))
    throw error
  }
}

async function readOperation(
  operation: Operation,
  maker: Maker,
  args: JsonObject,
  ctx: ToolContext,
  uri: string | undefined,
): Promise<Contents | undefined> {
  const answer = await callOperation(operation, maker, args, ctx)
  if (answer.status === 404 || answer.status === 410) return undefined
  if (answer.status >= 300) throw new ToolError(problemOf(answer))
  // a part of a resource would be taken for the whole
  if (answer.isCut)
    throw new McpError(
      errorCodes.internalError,
      `the resource has more than ${answer.body.length} bytes (maxBytes)`,
    )
  const about = { mimeType: mediaTypeOf(answer), ...(uri !== undefined && { uri }) }
  if (isTextual(answer)) return { ...about, text: textOf(answer) }
  return { ...about, blob: Buffer.from(answer.body).toString('base64') }
}

function descriptionOf({ isDeprecated, description, summary, method, path }: Operation): string {
  const said = cut(description ?? summary ?? '', maxDescription)
  const deprecated = isDeprecated ? 'Deprecated. ' : ''
  return said === '' ? `${deprecated}${method} ${cut(path, 200)}` : `${deprecated}${said}`
}

/** What RFC 9110, section 9.2, says of the methods; of others nobody knows. */
function annotationsOf({ method }: Operation): ToolAnnotations {
  if (['GET', 'HEAD', 'OPTIONS'].includes(method)) return { readOnlyHint: true, openWorldHint: true }
  return {
    readOnlyHint: false,
    ...(method === 'DELETE' && { destructiveHint: true }),
    ...((method === 'PUT' || method === 'DELETE') && { idempotentHint: true }),
    openWorldHint: true,
  }
}

/** All parameters, and the fields of the body, as one object. */
function inputOf({ parameters, body }: Operation, library: ToolLibrary): Schema {
  const schemas = new ToolSchemas(library.input)
  const properties = new Map<string, unknown>()
  const required: string[] = []
  for (const one of parameters) {
    const given = schemas.take(parameterSchema(one, library))
    properties.set(one.argument, describedBy(given, one.description))
    if (one.isRequired) required.push(one.argument)
  }
  if (body !== undefined) addBody(body, schemas, library, properties, required)
  const $defs = schemas.definitions()
  const whole = {
    type: 'object',
    properties: fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...($defs !== undefined && { $defs }),
  }
  const schema = schemas.whole(whole, properties.size)
  if (schema === undefined) throw new Unusable('its arguments are more than a schema may say')
  return schema
}

function parameterSchema({ schema }: Parameter, library: ToolLibrary): unknown {
  // the parameter of 2.0 is its own schema
  return library.document.version === '2.0' && isObject(schema) ? plainOf(schema, library) : schema
}

function plainOf(schema: JsonObject, { plain }: ToolLibrary): JsonObject {
  return plain.get(schema, () => withoutParameter(schema))
}

function withoutParameter(parameter: JsonObject): JsonObject {
  const { name: _name, in: _in, required: _required, description: _description, ...schema } = parameter
  return schema
}

function describedBy(schema: JsonObject, description: string | undefined): JsonObject {
  return description === undefined
    ? schema
    : { ...schema, description: cut(description, maxArgumentDescription) }
}

function addBody(
  body: Body,
  schemas: ToolSchemas,
  library: ToolLibrary,
  properties: Map<string, unknown>,
  required: string[],
): void {
  const { fields, kind, argument, isRequired } = body
  for (const { argument: name, schema, isRequired: isNeeded } of fields ?? []) {
    const own = isObject(schema) && 'in' in schema ? plainOf(schema, library) : schema
    const written = schemas.take(own)
    const said = isObject(schema) && 'in' in schema ? schema.description : undefined
    properties.set(name, describedBy(written, typeof said === 'string' ? said : undefined))
    if (isRequired && isNeeded) required.push(name)
  }
  if (fields !== undefined) return
  const bytes = {
    type: 'string',
    contentEncoding: 'base64',
    description: `The body: ${body.mediaType}, in base64.`,
  }
  const text = { type: 'string', description: `The body: ${body.mediaType}.` }
  const schema = kind === 'bytes' ? bytes : kind === 'text' ? text : schemas.take(body.schema ?? {})
  properties.set(argument, schema)
  if (isRequired) required.push(argument)
}

/** MCP wants an object: any other value stands in `result`. */
function outputOf(
  { output }: Operation,
  library: ToolLibrary,
): { readonly schema: Schema; readonly isWrapped: boolean } | undefined {
  if (output === undefined) return undefined
  const { document, objects } = library
  try {
    const schemas = new ToolSchemas(library.output)
    const found = document.resolve(output)
    const isWrapped = !objects.get(found, () => isObjectSchema(document, found))
    const written = schemas.take(isWrapped ? output : found)
    const $defs = schemas.definitions()
    const own = isWrapped
      ? { type: 'object', properties: { result: written } }
      : { ...written, type: 'object' }
    const schema = schemas.whole({ ...own, ...($defs !== undefined && { $defs }) }, 1)
    return schema && { schema, isWrapped }
  } catch (error) {
    if (error instanceof Unusable) return undefined
    throw error
  }
}

/** Schemas that one object may be made of: each may name all others again. */
const mostParts = 500

/** Whether all that fits is an object: what may be something else is wrapped. */
function isObjectSchema(
  document: ApiDocument,
  schema: unknown,
  depth = 0,
  room = { left: mostParts },
): boolean {
  room.left -= 1
  if (room.left < 0) return false
  const { type, properties, allOf, nullable } = document.object(schema)
  if (nullable === true || depth > 8) return false
  if (type !== undefined) return type === 'object'
  if (isObject(properties)) return true
  return (
    Array.isArray(allOf) &&
    allOf.length > 0 &&
    allOf.every((one) => isObjectSchema(document, one, depth + 1, room))
  )
}

import { ProtocolError } from '../protocol/errors.js'
import { isObject, type JsonObject } from '../protocol/json.js'
import { type Schema, type SchemaInput, toSchema } from '../protocol/schema.js'
import type { ToolAnnotations } from '../protocol/types/tools.js'
import { show } from '../runtime/errors.js'
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
import type { ToolReturn } from './results.js'
import type { ArgumentsOf } from './schema-arguments.js'

/** A tool as its author writes it. */
export interface ToolOptions<Input extends SchemaInput | undefined = undefined> {
  /** What clients call it by: 1 to 128 letters, digits, `_`, `-` and `.` (specification: tools, names). */
  readonly name: string
  /** A name for people. */
  readonly title?: string
  /** What it does, for the model. */
  readonly description?: string
  /**
   * What it takes: a Standard Schema (zod, arktype and others) or a JSON Schema, in both cases of an object. Arguments are checked before
   * `run` sees them. Without it the tool takes none, and what is given is dropped.
   */
  readonly input?: Input
  /** Hints for clients. */
  readonly annotations?: ToolAnnotations
  /** Milliseconds a call may take before it is stopped and answered with `isError`. Default: the server's `requestTimeout`. */
  readonly timeout?: number
  /**
   * Does the work, as a task of its own: a throw costs this call and nothing else. Throw `ToolError` for what the model should read,
   * `McpError` for a JSON-RPC error; anything else is answered -32603 without its message.
   */
  run(args: ArgumentsOf<Input>, ctx: ToolContext): ToolReturn | Promise<ToolReturn>
}

/** A checked and frozen tool: data, to be used by any number of servers. */
export interface ToolDefinition {
  readonly kind: 'tool'
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly schema: Schema
  readonly annotations: ToolAnnotations | undefined
  readonly timeout: number | undefined
  readonly run: (args: never, ctx: ToolContext) => unknown
}

/** Defines a tool; the arguments of `run` are inferred from `input`. Throws BAD_DEFINITION, naming the tool and the field. */
export function defineTool<const Input extends SchemaInput | undefined = undefined>(
  options: ToolOptions<Input>,
): ToolDefinition {
  checkOptions('tool', options)
  const { name, title, description, input, annotations, timeout, run } = options
  checkName(name)
  const about = `tool ${show(name)}`
  checkFields(about, options, fields)
  checkTexts(about, { title, description })
  checkTimeout(about, timeout)
  checkFunction(about, 'run', run)
  checkAnnotations(about, annotations)
  return Object.freeze({
    kind: 'tool',
    name,
    title,
    description,
    schema: input === undefined ? nothing : readSchema(about, input),
    annotations: annotations === undefined ? undefined : Object.freeze({ ...annotations }),
    timeout,
    run: run.bind(options),
  })
}

/** Whether this is what `defineTool` returns. */
export function isTool(value: unknown): value is ToolDefinition {
  return isObject(value) && value.kind === 'tool' && Object.isFrozen(value) && isObject(value.schema)
}

const fields = new Set(['name', 'title', 'description', 'input', 'annotations', 'timeout', 'run'])
const hints: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

/** The schema of a tool that takes nothing. */
const nothing: Schema = Object.freeze({
  jsonSchema: Object.freeze({ type: 'object', additionalProperties: false }),
  parse: () => ({ value: {} }),
})

function checkName(name: unknown): void {
  if (typeof name === 'string' && /^[\w.-]{1,128}$/.test(name)) return
  throw badDefinition('tool', 'name', '1 to 128 letters, digits, _, - and .', name)
}

function checkAnnotations(about: string, annotations: unknown): void {
  if (annotations === undefined) return
  if (!isObject(annotations)) throw badDefinition(about, 'annotations', 'an object', annotations)
  for (const [key, value] of Object.entries(annotations)) {
    const field = `annotations.${key}`
    if (key === 'title' && typeof value !== 'string') throw badDefinition(about, field, 'a string', value)
    if (key === 'title') continue
    if (!hints.includes(key))
      throw badDefinition(about, field, `a hint among title, ${hints.join(', ')}`, key)
    if (typeof value !== 'boolean') throw badDefinition(about, field, 'true or false', value)
  }
}

/** Limits and references are checked now; compiling waits for the first call. */
function readSchema(about: string, input: SchemaInput): Schema {
  try {
    const schema = toSchema(input)
    if (describesObject(schema.jsonSchema)) return schema
    throw badDefinition(about, 'input', "a schema of an object (type: 'object')", schema.jsonSchema.type)
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw new ServerError('BAD_DEFINITION', `${about}: input: ${cause.message}`, {
      cause,
      data: { field: 'input' },
    })
  }
}

function describesObject({ type }: JsonObject): boolean {
  return type === 'object'
}

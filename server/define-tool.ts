import { ProtocolError } from '../protocol/errors.js'
import { isObject, type JsonObject } from '../protocol/json.js'
import { type Schema, type SchemaInput, toSchema } from '../protocol/schema.js'
import type { ToolAnnotations } from '../protocol/types/tools.js'
import { show } from '../runtime/errors.js'
import type { ToolContext } from './context.js'
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
  if (!isObject(options)) throw bad('tool', 'options', 'an object', options)
  const { name, title, description, input, annotations, timeout, run } = options
  checkName(name)
  const about = `tool ${show(name)}`
  for (const field of Object.keys(options))
    if (!fields.has(field)) throw bad(about, field, `a field among ${[...fields].join(', ')}`, field)
  if (title !== undefined && typeof title !== 'string') throw bad(about, 'title', 'a string', title)
  if (description !== undefined && typeof description !== 'string')
    throw bad(about, 'description', 'a string', description)
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw bad(about, 'timeout', 'milliseconds above 0', timeout)
  if (typeof run !== 'function') throw bad(about, 'run', 'a function', run)
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
  throw bad('tool', 'name', '1 to 128 letters, digits, _, - and .', name)
}

function checkAnnotations(about: string, annotations: unknown): void {
  if (annotations === undefined) return
  if (!isObject(annotations)) throw bad(about, 'annotations', 'an object', annotations)
  for (const [key, value] of Object.entries(annotations)) {
    const field = `annotations.${key}`
    if (key === 'title' && typeof value !== 'string') throw bad(about, field, 'a string', value)
    if (key === 'title') continue
    if (!hints.includes(key)) throw bad(about, field, `a hint among title, ${hints.join(', ')}`, key)
    if (typeof value !== 'boolean') throw bad(about, field, 'true or false', value)
  }
}

/** Limits and references are checked now; compiling waits for the first call. */
function readSchema(about: string, input: SchemaInput): Schema {
  try {
    const schema = toSchema(input)
    if (describesObject(schema.jsonSchema)) return schema
    throw bad(about, 'input', "a schema of an object (type: 'object')", schema.jsonSchema.type)
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

function bad(about: string, field: string, expected: string, got: unknown): ServerError {
  return new ServerError('BAD_DEFINITION', `${about}: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}

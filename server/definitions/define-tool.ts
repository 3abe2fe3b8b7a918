import { isObject } from '../../protocol/wire/json.js'
import { type HeaderPlan, headerParams } from '../../protocol/stateless/headers.js'
import type { Schema } from '../../protocol/schema/schema.js'
import type { CallToolResult, ToolAnnotations } from '../../protocol/messages/tools.js'
import type { ToolResultBuilder } from '../results/builders.js'
import type { ToolContext } from '../context/context.js'
import {
  aboutNamed,
  badDefinition,
  checkFields,
  checkFunction,
  checkOptions,
  checkTimeout,
} from './definition.js'
import { type Described, orBad, readObjectSchema, readSchema } from './definition-schema.js'
import { type Presented, type PresentedDefinition, presentedFields, readPresented } from './presented.js'
import type { ToolReturn } from '../results/results.js'
import type { ArgumentsOf, Immutable, StructuredOf } from './schema-arguments.js'

/** What an async function without a `return` resolves with: the same as nothing. */
type Nothing = ReturnType<() => void>

/** What a tool with an `output` may return: the value that it describes, or a whole result that has it. */
export type StructuredReturn<Output> = Immutable<StructuredOf<Output> | CallToolResult> | ToolResultBuilder

interface ToolCommon<Input> extends Presented {
  /**
   * What clients call it by: 1 to 128 letters, digits, `_`, `-` and `.` (specification: tools, names). Left
   * out, it is named by whoever lists it: `defineServer({ tools: { addNumbers } })` makes it `add_numbers`.
   */
  readonly name?: string
  /**
   * What it takes: fields by their names (`{ a: field.integer(), b: z.string(), c: { type: 'string' } }`), or
   * one schema of an object: a Standard Schema (zod, arktype and others) or a JSON Schema. Arguments are
   * checked before `run` sees them. Without it the tool takes none, and what is given is dropped. `header` of
   * a field, or `x-mcp-header: 'Name'` in a JSON Schema, has clients of 2026-07-28 repeat it in the header
   * `Mcp-Param-Name`, for proxies to route by.
   */
  readonly input?: Input
  /** Hints for clients. */
  readonly annotations?: ToolAnnotations
  /**
   * Milliseconds a call may take before it is stopped and answered with `isError`. Default: the server's
   * `requestTimeout`.
   */
  readonly timeout?: number
}

/** A tool as its author writes it. */
export interface ToolOptions<Input extends Described | undefined = undefined, Context = ToolContext>
  extends ToolCommon<Input> {
  /** See `StructuredToolOptions`. */
  readonly output?: undefined
  /**
   * Does the work, as a task of its own: a throw costs this call and nothing else. Throw `ToolError` for what
   * the model should read, `McpError` for a JSON-RPC error; anything else is answered -32603 without its
   * message.
   */
  run(args: ArgumentsOf<Input>, ctx: Context): ToolReturn | Promise<ToolReturn | Nothing>
}

/** A tool that returns a value for programs, as its author writes it. */
export interface StructuredToolOptions<
  Input extends Described | undefined,
  Output extends Described,
  Context = ToolContext,
  Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
> extends ToolCommon<Input> {
  /**
   * What it returns, described like `input`: clients are shown it (`outputSchema`), `run` returns the value
   * itself, and it is sent as the schema reads it, with its JSON as text for models. A value that does not
   * fit is a crash of the call, and not sent. Before 2026-07-28 clients know values only that are objects:
   * they are sent the text of any other, and none of them before 2025-06-18.
   */
  readonly output: Output
  /** Does the work, like `run` of any other tool, and returns the value. */
  run(args: ArgumentsOf<Input>, ctx: Context): Returned | Promise<Returned>
}

/** A checked and frozen tool: data, to be used by any number of servers. */
export interface ToolDefinition<Name extends string | undefined = string> extends PresentedDefinition {
  readonly kind: 'tool'
  readonly name: Name
  readonly schema: Schema
  /** Undefined: nothing is said of what it returns. */
  readonly output: Schema | undefined
  /** Which arguments clients of 2026-07-28 repeat in headers: `x-mcp-header` in the schema says so. */
  readonly headers: HeaderPlan
  readonly annotations: ToolAnnotations | undefined
  readonly timeout: number | undefined
  readonly run: (args: never, ctx: ToolContext) => unknown
}

/** The name of a definition: that of its options, or none yet. */
export type NameOf<Name> = Name extends string ? string : undefined

/**
 * Defines a tool; the arguments of `run` are inferred from `input`, its result from `output`. Throws
 * BAD_DEFINITION, naming the tool and the field.
 */
export function defineTool<
  const Input extends Described | undefined = undefined,
  Name extends string | undefined = undefined,
>(options: ToolOptions<Input> & { readonly name?: Name }): ToolDefinition<NameOf<Name>>
export function defineTool<
  const Output extends Described,
  const Input extends Described | undefined = undefined,
  Name extends string | undefined = undefined,
  const Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
>(
  options: StructuredToolOptions<Input, Output, ToolContext, Returned> & { readonly name?: Name },
): ToolDefinition<NameOf<Name>>
export function defineTool(
  options: ToolOptions<Described> | StructuredToolOptions<Described, Described>,
): ToolDefinition<string | undefined> {
  checkOptions('tool', options)
  const { name, input, output, annotations, timeout, run } = options
  if (name !== undefined) checkToolName(name)
  const about = aboutNamed('tool', name)
  checkFields(about, options, fields)
  checkTimeout(about, timeout)
  checkFunction(about, 'run', run)
  checkAnnotations(about, annotations)
  const schema = input === undefined ? nothing : readObjectSchema({ about, field: 'input' }, input, true)
  return Object.freeze({
    kind: 'tool',
    name,
    ...readPresented(about, options),
    schema,
    output: output === undefined ? undefined : readSchema({ about, field: 'output' }, output, 'output'),
    headers: readHeaders(about, schema),
    annotations: annotations === undefined ? undefined : Object.freeze({ ...annotations }),
    timeout,
    run: run.bind(options),
  })
}

/** Whether this is what `defineTool` returns. */
export function isTool(value: unknown): value is ToolDefinition<string | undefined> {
  return isObject(value) && value.kind === 'tool' && Object.isFrozen(value) && isObject(value.schema)
}

const fields = new Set(['name', ...presentedFields, 'input', 'output', 'annotations', 'timeout', 'run'])
const hints: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

/** The schema of a tool that takes nothing. */
const nothing: Schema = Object.freeze({
  jsonSchema: Object.freeze({ type: 'object', additionalProperties: false }),
  parse: () => ({ value: {} }),
})

/** Throws BAD_DEFINITION for what no tool may be called. */
export function checkToolName(name: unknown): void {
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

/**
 * Only what every client can repeat is taken (specification: 2026-07-28, Streamable HTTP, `x-mcp-header`).
 */
function readHeaders(about: string, { jsonSchema }: Schema): HeaderPlan {
  return orBad({ about, field: 'input' }, () => headerParams(jsonSchema))
}

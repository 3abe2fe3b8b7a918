import { isObject } from '../../protocol/wire/json.js'
import { type HeaderPlan, headerParams } from '../../protocol/stateless/headers.js'
import type { Schema } from '../../protocol/schema/schema.js'
import type { ToolTypes } from '../../protocol/messages/server-types.js'
import type { CallToolResult, ToolAnnotations } from '../../protocol/messages/tools.js'
import type { ToolResultBuilder } from '../results/builders.js'
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
import { type DefinitionReaders, definitionGuard } from './definition.js'
import {
  type Described,
  readObjectSchema,
  readProtocol,
  readSchema,
  type ArgumentsOf,
  type Immutable,
  type StructuredOf,
} from './described.js'
import type { InputOfTool, OutputOfTool } from './tool-types.js'
import type { ToolReturn } from '../results/results.js'

/** What an async function without a `return` resolves with. */
type Nothing = ReturnType<() => void>

/** What a tool with an `output` may return: the value, or a whole result with it. */
export type StructuredReturn<Output> = Immutable<StructuredOf<Output> | CallToolResult> | ToolResultBuilder

interface ToolCommon<Input> extends Presented {
  /**
   * The name that clients call: 1 to 128 letters, digits, `_`, `-` and `.` (specification: tools, names).
   * Default: its key in `defineServer`, in snake case (`tools: { addNumbers }` makes it `add_numbers`).
   */
  readonly name?: string
  /**
   * Its arguments: fields by their names (`{ a: field.integer(), b: z.string(), c: { type: 'string' } }`), or
   * one schema of an object, a Standard Schema (zod, arktype and others) or a JSON Schema. They are checked
   * before `run`. Default: no arguments; those that are sent are dropped. `header` of a field, or
   * `x-mcp-header: 'Name'` in a JSON Schema, makes clients of 2026-07-28 repeat an argument in the header
   * `Mcp-Param-Name`, for proxies to route by.
   */
  readonly input?: Input
  /** Hints for clients. */
  readonly annotations?: ToolAnnotations
  /**
   * Whether a call may, or must, run as a task, which outlives its request, connection and session
   * (specification: 2025-11-25, tasks; extension `io.modelcontextprotocol/tasks` of 2026-07-28). `optional`: if
   * its client asks for it, or, in 2026-07-28, can have tasks. `required`: calls of other clients are refused,
   * and revisions without tasks do not list the tool. The handler is the same; a task has no session. Default
   * `forbidden`.
   */
  readonly task?: TaskSupport
  /**
   * What becomes of a task whose program, or whose actor, died: with `again` the handler runs again, with what
   * its client has answered and with every finished `ctx.once` step kept; a step that was under way runs
   * again. With `fail` the task has failed. Default `again`.
   */
  readonly taskRestart?: 'again' | 'fail'
}

/** Whether a tool runs as a task. */
export type TaskSupport = 'forbidden' | 'optional' | 'required'

/** A tool: what `defineTool` takes. */
export interface ToolOptions<Input extends Described | undefined = undefined, Context = ToolContext>
  extends ToolCommon<Input>,
    NotIsolated {
  /** See `StructuredToolOptions`. */
  readonly output?: undefined
  /**
   * Asks what `run` needs to know before there is a task: in 2026-07-28 the call itself asks (MRTR), and becomes
   * a task when this is done. `run` finds its answers and steps under the same keys. Elsewhere it runs just
   * before `run`. Only with `task`.
   */
  prepare?(args: ArgumentsOf<Input>, ctx: Context): unknown
  /**
   * Does the work, in a task of its own: a throw fails only this call. Throw `ToolError` for a text that the
   * model should read, `McpError` for a JSON-RPC error. Any other error is -32603 without its message.
   */
  run(args: ArgumentsOf<Input>, ctx: Context): ToolReturn | Promise<ToolReturn | Nothing>
}

/** A tool that returns structured content: what `defineTool` takes. */
export interface StructuredToolOptions<
  Input extends Described | undefined,
  Output extends Described,
  Context = ToolContext,
  Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
> extends ToolCommon<Input>,
    NotIsolated {
  /**
   * The value that it returns, described like `input` and shown to clients (`outputSchema`). `run` returns
   * the value itself. Sent is what the schema makes of it, with its JSON as text for models. A value that
   * does not fit is a crash of the call. Before 2026-07-28 a value has to be an object: clients get only the
   * text of any other, and before 2025-06-18 only the text of all.
   */
  readonly output: Output
  /** See `ToolOptions`. */
  prepare?(args: ArgumentsOf<Input>, ctx: Context): unknown
  /** Does the work, like `run` of any tool, and returns the value. */
  run(args: ArgumentsOf<Input>, ctx: Context): Returned | Promise<Returned>
}

/** A tool whose handler runs in a thread or process of its own: what `defineTool` takes. */
export interface IsolatedToolOptions<
  Input extends Described | undefined = undefined,
  Output extends Described | undefined = undefined,
> extends ToolCommon<Input>,
    Isolated {
  /** See `StructuredToolOptions`. It is checked here, like the arguments. */
  readonly output?: Output
  readonly run?: undefined
}

/** A checked and frozen tool: data, for any number of servers. */
export interface ToolDefinition<Name extends string | undefined = string, Types extends ToolTypes = ToolTypes>
  extends ComponentDefinition<Name> {
  readonly kind: 'tool'
  /** For compilers only: what it takes and returns. Never there. */
  readonly types?: Types
  readonly schema: Schema
  readonly output: Schema | undefined
  /** The arguments that clients of 2026-07-28 repeat in headers (`x-mcp-header`). */
  readonly headers: HeaderPlan
  readonly annotations: ToolAnnotations | undefined
  readonly task: TaskSupport
  readonly taskRestart: 'again' | 'fail'
  /** Runs before the call becomes a task, where its client can be asked without one. */
  readonly prepare: ((args: never, ctx: ToolContext) => unknown) | undefined
  readonly run: (args: never, ctx: ToolContext) => unknown
}

/** The types of a tool with this `input` and this `output`. */
export interface TypesFor<Input, Output> extends ToolTypes {
  readonly input: InputOfTool<Input>
  readonly output: OutputOfTool<Output>
}

/** Defines a tool. Throws BAD_DEFINITION, naming the tool and the field. */
export function defineTool<
  const Input extends Described | undefined = undefined,
  Name extends string | undefined = undefined,
>(
  options: ToolOptions<Input> & { readonly name?: Name },
): ToolDefinition<NameOf<Name>, TypesFor<Input, undefined>>
export function defineTool<
  const Input extends Described | undefined = undefined,
  const Output extends Described | undefined = undefined,
  Name extends string | undefined = undefined,
>(
  options: IsolatedToolOptions<Input, Output> & { readonly name?: Name },
): ToolDefinition<NameOf<Name>, TypesFor<Input, Output>>
export function defineTool<
  const Output extends Described,
  const Input extends Described | undefined = undefined,
  Name extends string | undefined = undefined,
  const Returned extends StructuredReturn<Output> = StructuredReturn<Output>,
>(
  options: StructuredToolOptions<Input, Output, ToolContext, Returned> & { readonly name?: Name },
): ToolDefinition<NameOf<Name>, TypesFor<Input, Output>>
export function defineTool(
  options:
    | IsolatedToolOptions<Described, Described>
    | ToolOptions<Described>
    | StructuredToolOptions<Described, Described>,
): ToolDefinition<string | undefined> {
  const { read, common, handle } = readComponent<string | undefined>(toolKind, options)
  const { input, output, annotations } = options
  checkAnnotations(read, annotations)
  const task = readTask(read, options)
  const prepare = readPrepare(read, options)
  const schema = input === undefined ? nothing : readObjectSchema(read, 'input', input, true)
  return Object.freeze({
    kind: 'tool',
    ...common,
    schema,
    output: output === undefined ? undefined : readSchema(read, 'output', output, 'output'),
    // refuses what clients cannot repeat (specification: 2026-07-28, Streamable HTTP, `x-mcp-header`)
    headers: readProtocol(read, 'input', () => headerParams(schema.jsonSchema)),
    annotations: annotations === undefined ? undefined : Object.freeze({ ...annotations }),
    ...task,
    prepare,
    run: prepare === undefined ? handle : prepared(prepare, handle),
  })
}

export const isTool = definitionGuard<ToolDefinition<string | undefined>>('tool')

/** Whether a tool may have this name (specification: tools, names). */
export function isToolName(name: unknown): boolean {
  return typeof name === 'string' && /^[\w.-]{1,128}$/.test(name)
}

export const toolNames = '1 to 128 letters, digits, _, - and .'

const toolKind: ComponentKind = {
  kind: 'tool',
  key: 'name',
  expected: toolNames,
  fits: (name) => name === undefined || isToolName(name),
  handler: 'run',
  fields: ['input', 'output', 'annotations', 'task', 'taskRestart', 'prepare'],
}

const hints: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

const nothing: Schema = Object.freeze({
  jsonSchema: Object.freeze({ type: 'object', additionalProperties: false }),
  parse: () => ({ value: {} }),
})

function readTask(
  { bad, readWord }: DefinitionReaders,
  { task = 'forbidden', taskRestart = 'again', session }: ToolCommon<unknown>,
): Pick<ToolDefinition, 'task' | 'taskRestart'> {
  readWord(task, 'task', ['forbidden', 'optional', 'required'])
  readWord(taskRestart, 'taskRestart', ['again', 'fail'])
  if (task !== 'forbidden' && session === true)
    throw bad('task', "'forbidden' with session: true, since a task outlives its session", task)
  return { task, taskRestart }
}

type ToolHandler = ToolDefinition['run']

function readPrepare({ bad, readFunction }: DefinitionReaders, options: object): ToolHandler | undefined {
  const { prepare, task = 'forbidden', module } = options as Readonly<Record<string, unknown>>
  if (prepare === undefined) return undefined
  if (task === 'forbidden' || module !== undefined)
    throw bad('prepare', 'nothing without task, and beside module', prepare)
  return readFunction(prepare, 'prepare').bind(options) as ToolHandler
}

function prepared(prepare: ToolHandler, run: ToolHandler): ToolHandler {
  return async (args, ctx) => {
    await prepare(args, ctx)
    return run(args, ctx)
  }
}

function checkAnnotations({ bad, readFlag }: DefinitionReaders, annotations: unknown): void {
  if (annotations === undefined) return
  if (!isObject(annotations)) throw bad('annotations', 'an object', annotations)
  for (const [key, value] of Object.entries(annotations)) {
    const field = `annotations.${key}`
    if (key === 'title') {
      if (typeof value !== 'string') throw bad(field, 'a string', value)
      continue
    }
    if (!hints.includes(key)) throw bad(field, `a hint among title, ${hints.join(', ')}`, key)
    readFlag(value, field)
  }
}

import { ProtocolError } from '../../protocol/wire/errors.js'
import { type HeaderPlan, headerParams } from '../../protocol/stateless/headers.js'
import { type Schema, toSchema } from '../../protocol/schema/schema.js'
import type { Tool, ToolExecution } from '../../protocol/messages/tools.js'

/** Without the whole definition, which may be large. */
interface Known {
  readonly plan: HeaderPlan
  readonly isIdempotent: boolean
  readonly outputSchema: Tool['outputSchema']
  readonly taskSupport: NonNullable<ToolExecution['taskSupport']>
  /** Compiled when first needed; the error of one that cannot be used. */
  output: Schema | ProtocolError | undefined
}

/** The first listed are forgotten first. */
const maxTools = 10_000
const noPlan: HeaderPlan = Object.freeze([])

/** Tools as listed last: header arguments, output schema, idempotence. Empty in a new session. */
export class ToolBook {
  readonly #tools = new Map<string, Known>()

  get size(): number {
    return this.#tools.size
  }

  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /** With `mirrors` (HTTP, 2026-07-28), throws BAD_SCHEMA for a tool with a wrong `x-mcp-header`. */
  learn({ name, annotations, inputSchema, outputSchema, execution }: Tool, mirrors: boolean): void {
    this.#tools.delete(name)
    const plan = mirrors ? headerParams(inputSchema) : noPlan
    const isIdempotent = annotations?.readOnlyHint === true || annotations?.idempotentHint === true
    const taskSupport = readSupport(execution)
    this.#tools.set(name, { plan, isIdempotent, outputSchema, taskSupport, output: undefined })
    if (this.#tools.size <= maxTools) return
    const [oldest] = this.#tools.keys()
    if (oldest !== undefined) this.#tools.delete(oldest)
  }

  clear(): void {
    this.#tools.clear()
  }

  /** Which arguments are repeated in headers; none of an unlisted tool. */
  planOf(name: string): HeaderPlan {
    return this.#tools.get(name)?.plan ?? noPlan
  }

  isIdempotent(name: string): boolean {
    return this.#tools.get(name)?.isIdempotent === true
  }

  /** Whether it may, or must, be run as a task (2025-11-25, tasks); undefined: it was not listed. */
  taskSupportOf(name: string): ToolExecution['taskSupport'] {
    return this.#tools.get(name)?.taskSupport
  }

  hasOutput(name: string): boolean {
    return this.#tools.get(name)?.outputSchema !== undefined
  }

  /** Throws BAD_SCHEMA for an unusable one: beyond limits, outside references, unknown dialect. */
  outputOf(name: string): Schema | undefined {
    const known = this.#tools.get(name)
    if (known?.outputSchema === undefined) return undefined
    known.output ??= readSchema(known.outputSchema)
    if (known.output instanceof ProtocolError) throw known.output
    return known.output
  }
}

function readSupport({ taskSupport }: ToolExecution = {}): NonNullable<ToolExecution['taskSupport']> {
  return taskSupport === 'optional' || taskSupport === 'required' ? taskSupport : 'forbidden'
}

function readSchema(schema: object): Schema | ProtocolError {
  try {
    return toSchema(schema as Record<string, unknown>)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

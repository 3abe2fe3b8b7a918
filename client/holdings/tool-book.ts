import { ProtocolError } from '../../protocol/wire/errors.js'
import { type HeaderPlan, headerParams } from '../../protocol/stateless/headers.js'
import { type Schema, toSchema } from '../../protocol/schema/schema.js'
import type { Tool } from '../../protocol/messages/tools.js'

/** What is remembered of a tool: not the whole definition, which may be large. */
interface Known {
  readonly plan: HeaderPlan
  readonly isIdempotent: boolean
  readonly outputSchema: Tool['outputSchema']
  /** The compiled output schema, once it was needed; the error of one that cannot be used. */
  output: Schema | ProtocolError | undefined
}

/** Tools that are remembered; those listed first are forgotten first. */
const maxTools = 10_000
const noPlan: HeaderPlan = Object.freeze([])

/**
 * The tools of a server as it listed them last: which arguments are repeated in headers, the output schema,
 * and whether a call may be made twice. Empty until tools are listed, and again in a new session.
 */
export class ToolBook {
  readonly #tools = new Map<string, Known>()

  /** How many are known. */
  get size(): number {
    return this.#tools.size
  }

  /** Their names. */
  names(): Iterable<string> {
    return this.#tools.keys()
  }

  /**
   * Remembers a tool. With `mirrors`, over HTTP in 2026-07-28, it throws BAD_SCHEMA for a tool whose
   * `x-mcp-header` breaks the rules: that one must not be used.
   */
  learn({ name, annotations, inputSchema, outputSchema }: Tool, mirrors: boolean): void {
    this.#tools.delete(name)
    const plan = mirrors ? headerParams(inputSchema) : noPlan
    const isIdempotent = annotations?.readOnlyHint === true || annotations?.idempotentHint === true
    this.#tools.set(name, { plan, isIdempotent, outputSchema, output: undefined })
    if (this.#tools.size <= maxTools) return
    const [oldest] = this.#tools.keys()
    if (oldest !== undefined) this.#tools.delete(oldest)
  }

  clear(): void {
    this.#tools.clear()
  }

  /** Which arguments of a tool are repeated in headers; none of one that was never listed. */
  planOf(name: string): HeaderPlan {
    return this.#tools.get(name)?.plan ?? noPlan
  }

  /** Whether the server says that a second call with the same arguments changes nothing more. */
  isIdempotent(name: string): boolean {
    return this.#tools.get(name)?.isIdempotent === true
  }

  /** Whether it was listed with an output schema. */
  hasOutput(name: string): boolean {
    return this.#tools.get(name)?.outputSchema !== undefined
  }

  /**
   * The output schema of a tool, if it has one. Throws BAD_SCHEMA for one that cannot be used: beyond the
   * limits, with references to the outside, or in an unknown dialect.
   */
  outputOf(name: string): Schema | undefined {
    const known = this.#tools.get(name)
    if (known?.outputSchema === undefined) return undefined
    known.output ??= readSchema(known.outputSchema)
    if (known.output instanceof ProtocolError) throw known.output
    return known.output
  }
}

function readSchema(schema: object): Schema | ProtocolError {
  try {
    return toSchema(schema as Record<string, unknown>)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

import { ProtocolError } from '../../protocol/wire/errors.js'
import { type HeaderPlan, headerParams } from '../../protocol/stateless/mirrored-headers.js'
import { type Schema, toSchema } from '../../protocol/schema/schema.js'
import type { Tool } from '../../protocol/messages/tools.js'

/** What is known of a tool since it was listed: not all that was said of it, which may be much. */
interface Known {
  readonly plan: HeaderPlan
  readonly isIdempotent: boolean
  readonly outputSchema: Tool['outputSchema']
  /** Its output schema, once somebody has asked for it; the error of one that cannot be used. */
  output: Schema | ProtocolError | undefined
}

/** Tools that are remembered at most; those listed last are. */
const maxTools = 10_000
const noPlan: HeaderPlan = Object.freeze([])

/**
 * The tools of a server as it listed them last: how their arguments are repeated in headers, what their
 * results look like, and whether they may be called twice. Empty until tools are listed, and again in a new
 * session: what a server says today may differ from yesterday.
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
   * Remembers a tool. Throws BAD_SCHEMA for one whose `x-mcp-header` breaks the rules: it must not be used
   * over HTTP.
   */
  learn(tool: Tool): void {
    this.#tools.delete(tool.name)
    const plan = headerParams(tool.inputSchema)
    this.#add(tool, plan)
  }

  /** Remembers a tool whose headers are of no concern. */
  learnPlainly(tool: Tool): void {
    this.#tools.delete(tool.name)
    this.#add(tool, noPlan)
  }

  /** Forgets all of them. */
  clear(): void {
    this.#tools.clear()
  }

  /** Which arguments of a tool are repeated in headers; of one that was never listed, none. */
  planOf(name: string): HeaderPlan {
    return this.#tools.get(name)?.plan ?? noPlan
  }

  /** Whether a second call with the same arguments changes nothing more, as the server says. */
  isIdempotent(name: string): boolean {
    return this.#tools.get(name)?.isIdempotent === true
  }

  /** Whether it said what its structured content will look like. */
  promises(name: string): boolean {
    return this.#tools.get(name)?.outputSchema !== undefined
  }

  /**
   * What the structured content of a tool has to look like; undefined where nothing was promised. Throws
   * BAD_SCHEMA for a promise that cannot be read: beyond the limits, with references to the outside, or in an
   * unknown dialect.
   */
  outputOf(name: string): Schema | undefined {
    const known = this.#tools.get(name)
    if (known?.outputSchema === undefined) return undefined
    known.output ??= readSchema(known.outputSchema)
    if (known.output instanceof ProtocolError) throw known.output
    return known.output
  }

  #add({ name, annotations, outputSchema }: Tool, plan: HeaderPlan): void {
    const isIdempotent = annotations?.readOnlyHint === true || annotations?.idempotentHint === true
    this.#tools.set(name, { plan, isIdempotent, outputSchema, output: undefined })
    if (this.#tools.size <= maxTools) return
    const [oldest] = this.#tools.keys()
    if (oldest !== undefined) this.#tools.delete(oldest)
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

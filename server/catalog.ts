import { paginate } from '../protocol/page.js'
import type { ListToolsResult, ObjectSchema, Tool } from '../protocol/types/tools.js'
import type { ToolDefinition } from './define-tool.js'

/** One page of `tools/list` with its JSON text. */
export interface PreparedPage {
  readonly result: ListToolsResult
  readonly text: string
}

/**
 * The tools of one server, those added at run time included. Written by the base actor only and read by everybody; pages of the
 * list are written out once and kept until a change.
 */
export class Catalog {
  readonly #pageSize: number
  #tools: ReadonlyMap<string, ToolDefinition>
  #pages = new Map<string | undefined, PreparedPage>()
  #version = 0

  constructor(tools: readonly ToolDefinition[], pageSize: number) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.#pageSize = pageSize
  }

  /** Another number after every change. */
  get version(): number {
    return this.#version
  }

  tool(name: string): ToolDefinition | undefined {
    return this.#tools.get(name)
  }

  /** Throws McpError -32602 for a cursor that is not of this list. */
  page(cursor: string | undefined): PreparedPage {
    const known = this.#pages.get(cursor)
    if (known !== undefined) return known
    const { items, nextCursor } = paginate([...this.#tools.values()], cursor, this.#pageSize)
    const tools = items.map(toListEntry)
    const result: ListToolsResult = nextCursor === undefined ? { tools } : { tools, nextCursor }
    const page = { result, text: JSON.stringify(result) }
    this.#pages.set(cursor, page)
    return page
  }

  /** False when the name is taken. */
  add(tool: ToolDefinition): boolean {
    if (this.#tools.has(tool.name)) return false
    this.#change(new Map([...this.#tools, [tool.name, tool]]))
    return true
  }

  /** False when there is no such tool. */
  remove(name: string): boolean {
    if (!this.#tools.has(name)) return false
    this.#change(new Map([...this.#tools].filter(([other]) => other !== name)))
    return true
  }

  #change(tools: ReadonlyMap<string, ToolDefinition>): void {
    this.#tools = tools
    this.#pages = new Map()
    this.#version += 1
  }
}

function toListEntry({ name, title, description, schema, annotations }: ToolDefinition): Tool {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: schema.jsonSchema as ObjectSchema,
    ...(annotations !== undefined && { annotations }),
  }
}

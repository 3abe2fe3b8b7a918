import type { JsonObject } from '../../protocol/wire/json.js'
import { gatherTools, type ModelToolsOptions, type ToolSource, wordsOf } from './model-tools.js'

/** What `new DynamicStructuredTool(...)` of LangChain takes, without a dependency on that. */
export interface LangChainTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  readonly responseFormat: 'content_and_artifact'
  /** The words of the result for the model, and the whole result. Throws the words of a tool that failed. */
  func(
    args: Record<string, unknown>,
    manager?: unknown,
    config?: { readonly signal?: AbortSignal },
  ): Promise<[content: string, artifact: unknown]>
}

/**
 * The tools of one server, or of several, as they are now: `(await toLangChainTools(clients)).map((tool) =>
 * new DynamicStructuredTool(tool))`. Rejects as `listTools`, and with BAD_OPTION.
 */
export async function toLangChainTools(
  source: ToolSource,
  options?: ModelToolsOptions,
): Promise<readonly LangChainTool[]> {
  const tools = await gatherTools(source, options)
  return tools.map(({ name, tool, call }) => ({
    name,
    description: tool.description ?? tool.title ?? name,
    schema: tool.inputSchema as JsonObject,
    responseFormat: 'content_and_artifact',
    async func(args, _manager, { signal } = {}) {
      const result = await call(args, signal)
      if (result.isError === true) throw new Error(wordsOf(result))
      return [wordsOf(result), result]
    },
  }))
}

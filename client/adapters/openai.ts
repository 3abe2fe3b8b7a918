import { messageOf } from '../../runtime/base/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import {
  gatherTools,
  type ModelTool,
  type ModelToolsOptions,
  type ToolSource,
  wordsOf,
} from './model-tools.js'

/** A function as OpenAI's Chat Completions take it. */
export interface OpenAiFunction {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: JsonObject }
}

/** A call of a function, as the model makes it: of Chat Completions, or of the Responses API. */
export type OpenAiCall =
  | {
      readonly id: string
      readonly type?: 'function'
      readonly function: { readonly name: string; readonly arguments: string }
    }
  | { readonly call_id: string; readonly name: string; readonly arguments: string }

/** The tools of servers as functions of OpenAI. */
export interface OpenAiTools {
  /** `tools` of Chat Completions. */
  readonly tools: readonly OpenAiFunction[]
  /** `tools` of the Responses API. */
  readonly responsesTools: readonly (OpenAiFunction['function'] & {
    readonly type: 'function'
    readonly strict: false
  })[]
  /**
   * Runs a call; resolves with the message that answers it, also where it failed. Rejects when `signal` is
   * aborted.
   */
  call(
    call: Extract<OpenAiCall, { id: string }>,
    signal?: AbortSignal,
  ): Promise<{ role: 'tool'; tool_call_id: string; content: string }>
  call(
    call: Extract<OpenAiCall, { call_id: string }>,
    signal?: AbortSignal,
  ): Promise<{ type: 'function_call_output'; call_id: string; output: string }>
}

/**
 * The tools of one server, or of several, as they are now, for function calling of OpenAI, and of what speaks
 * like it. Rejects as `listTools`, and with BAD_OPTION.
 */
export async function toOpenAiTools(source: ToolSource, options?: ModelToolsOptions): Promise<OpenAiTools> {
  const all = await gatherTools(source, options)
  const byName = new Map(all.map((one) => [one.name, one]))
  const functions = all.map(({ name, tool }) => ({
    name,
    ...(tool.description !== undefined && { description: tool.description }),
    parameters: tool.inputSchema as JsonObject,
  }))
  const call = async (asked: OpenAiCall, signal?: AbortSignal): Promise<unknown> => {
    const { name, arguments: text } = 'function' in asked ? asked.function : asked
    const words = await answerTo(byName, { name, text }, signal)
    return 'function' in asked
      ? { role: 'tool', tool_call_id: asked.id, content: words }
      : { type: 'function_call_output', call_id: asked.call_id, output: words }
  }
  return {
    tools: functions.map((one) => ({ type: 'function', function: one })),
    responsesTools: functions.map((one) => ({ type: 'function', ...one, strict: false })),
    call: call as OpenAiTools['call'],
  }
}

/** The model is told what went wrong, and may try again. */
async function answerTo(
  tools: ReadonlyMap<string, ModelTool>,
  { name, text }: { readonly name: string; readonly text: string },
  signal: AbortSignal | undefined,
): Promise<string> {
  const tool = tools.get(name)
  if (tool === undefined) return `Error: there is no function ${name}: ${[...tools.keys()].join(', ')}`
  let args: unknown
  try {
    args = text === '' ? {} : JSON.parse(text)
  } catch {
    return 'Error: the arguments are no JSON'
  }
  if (!isObject(args)) return 'Error: the arguments are no JSON object'
  try {
    const result = await tool.call(args, signal)
    return result.isError === true ? `Error: ${wordsOf(result)}` : wordsOf(result)
  } catch (error) {
    if (signal?.aborted === true) throw error
    return `Error: ${messageOf(error)}`
  }
}

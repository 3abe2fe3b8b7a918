import { isObject } from '../protocol/json.js'
import { readResult } from '../protocol/params.js'
import type { Issue } from '../protocol/schema-issues.js'
import type { ContentBlock, TextContent } from '../protocol/types/content.js'
import type { CallToolResult } from '../protocol/types/tools.js'
import { show } from '../runtime/errors.js'
import { ServerError } from './errors.js'

/** What a tool may return: text, one or more blocks of content, a whole result, or nothing. */
export type ToolReturn = string | ContentBlock | readonly ContentBlock[] | CallToolResult | undefined

/** A block of text. */
export function text(value: string): TextContent {
  return { type: 'text', text: value }
}

/** A block of text with the JSON of a value. Throws BAD_RESULT when it has none. */
export function json(value: unknown): TextContent {
  let written: string | undefined
  try {
    written = JSON.stringify(value, null, 2)
  } catch (cause) {
    throw new ServerError('BAD_RESULT', `json: ${show(value)} has no JSON text`, { cause })
  }
  if (written === undefined) throw new ServerError('BAD_RESULT', `json: ${show(value)} has no JSON text`)
  return text(written)
}

/** What a tool returned, as the protocol has it. Throws BAD_RESULT for what a tool may not return. */
export function toToolResult(tool: string, returned: unknown): CallToolResult {
  if (returned === undefined) return { content: [] }
  if (typeof returned === 'string') return { content: [text(returned)] }
  const result = Array.isArray(returned) || isBlock(returned) ? { content: [returned].flat() } : returned
  if (!isObject(result) || !('content' in result)) throw badResult(tool, `got ${show(returned)}`)
  try {
    return readResult('tools/call', result)
  } catch (cause) {
    throw badResult(tool, (cause as Error).message, cause)
  }
}

/** A failure that the model is to read. */
export function toolFailure(message: string): CallToolResult {
  return { content: [text(message)], isError: true }
}

/** All that is wrong with the arguments of a call, for the model to correct. */
export function badArguments(tool: string, issues: readonly Issue[]): CallToolResult {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? 'arguments' : path}: ${message}`)
  return toolFailure(`The arguments for ${tool} are not valid:\n${lines.join('\n')}`)
}

function isBlock(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string'
}

function badResult(tool: string, problem: string, cause?: unknown): ServerError {
  const expected = 'expected a string, content blocks, or an object with content'
  return new ServerError('BAD_RESULT', `tool ${show(tool)} returned no result: ${expected}; ${problem}`, {
    cause,
  })
}

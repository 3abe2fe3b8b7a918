import { isObject } from '../../protocol/wire/json.js'
import type { Method, Result } from '../../protocol/messages/methods.js'
import { checkSentResult } from '../../protocol/messages/params.js'
import type { Issue } from '../../protocol/schema/issues.js'
import type {
  BlobResourceContents,
  ContentBlock,
  TextContent,
  TextResourceContents,
} from '../../protocol/messages/types/content.js'
import type { GetPromptResult, PromptMessage } from '../../protocol/messages/types/prompts.js'
import type { ReadResourceResult } from '../../protocol/messages/types/resources.js'
import type { CallToolResult } from '../../protocol/messages/types/tools.js'
import { show } from '../../runtime/base/errors.js'
import {
  built,
  jsonOf,
  type PromptResultBuilder,
  type ResourceResultBuilder,
  type ToolResultBuilder,
} from './builders.js'
import { ServerError } from '../base/errors.js'

/**
 * What a tool may return: text, one or more blocks of content, what `toolResult()` builds, a whole result, or
 * nothing.
 */
export type ToolReturn =
  | string
  | ContentBlock
  | readonly ContentBlock[]
  | ToolResultBuilder
  | CallToolResult
  | undefined

/**
 * The contents of a resource, whose uri and type may be left out: then they are those that were asked for.
 */
export type Contents =
  | (Omit<TextResourceContents, 'uri'> & { uri?: string })
  | (Omit<BlobResourceContents, 'uri'> & { uri?: string })

/**
 * What a resource may read: text, bytes, contents, a whole result, or `undefined` when there is no such
 * resource.
 */
export type ResourceReturn =
  | string
  | Uint8Array
  | Contents
  | readonly Contents[]
  | ResourceResultBuilder
  | ReadResourceResult
  | undefined

/** What a prompt may be: one message of the user, one or more messages, or a whole result. */
export type PromptReturn =
  | string
  | PromptMessage
  | readonly PromptMessage[]
  | PromptResultBuilder
  | GetPromptResult

/** A block of text. */
export function text(value: string): TextContent {
  return { type: 'text', text: value }
}

/** A block of text with the JSON of a value. Throws BAD_RESULT when it has none. */
export function json(value: unknown): TextContent {
  return text(jsonOf(value))
}

/** What a tool returned, as the protocol has it. Throws BAD_RESULT for what a tool may not return. */
export function toToolResult(tool: string, given: unknown): CallToolResult {
  const returned = built(given)
  if (returned === undefined) return { content: [] }
  if (typeof returned === 'string') return { content: [text(checkText(tool, returned))] }
  const result = Array.isArray(returned) || isBlock(returned) ? { content: [returned].flat() } : returned
  return check('tools/call', `tool ${show(tool)}`, result, 'content')
}

/**
 * What a resource read, as the protocol has it; undefined when there is no such resource. Throws BAD_RESULT.
 */
export function toReadResult(
  asked: { readonly uri: string; readonly mimeType: string | undefined },
  given: unknown,
): ReadResourceResult | undefined {
  const returned = built(given)
  if (returned === undefined) return undefined
  const { uri, mimeType } = asked
  const about = `resource ${show(uri)}`
  if (isObject(returned) && 'contents' in returned)
    return check('resources/read', about, returned, 'contents')
  const contents = [returned].flat().map((part) => {
    const content = toContents(part)
    return isObject(content) ? { uri, ...(mimeType !== undefined && { mimeType }), ...content } : content
  })
  return check('resources/read', about, { contents }, 'contents')
}

/** What a prompt wrote, as the protocol has it. Throws BAD_RESULT. */
export function toPromptResult(
  prompt: { readonly name: string; readonly description: string | undefined },
  given: unknown,
): GetPromptResult {
  const returned = built(given)
  const { name, description } = prompt
  const about = `prompt ${show(name)}`
  const whole = isObject(returned) && 'messages' in returned ? returned : { messages: toMessages(returned) }
  return check(
    'prompts/get',
    about,
    { ...(description !== undefined && { description }), ...whole },
    'messages',
  )
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

/** What `String()` makes of a promise that nobody waited for. */
function checkText(tool: string, returned: string): string {
  if (returned !== '[object Promise]') return returned
  throw new ServerError(
    'BAD_RESULT',
    `tool ${show(tool)} returned the text of a promise: an await is missing`,
  )
}

function isBlock(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string'
}

function toContents(part: unknown): unknown {
  if (typeof part === 'string') return { text: part }
  return part instanceof Uint8Array ? { blob: Buffer.from(part).toString('base64') } : part
}

function toMessages(returned: unknown): unknown[] {
  return typeof returned === 'string' ? [{ role: 'user', content: text(returned) }] : [returned].flat()
}

const expectations = Object.freeze({
  'tools/call': 'a string, content blocks, or an object with content (or describe the value with output)',
  'resources/read': 'a string, bytes, contents, or an object with contents',
  'prompts/get': 'a string, messages, or an object with messages',
})

function check<M extends keyof typeof expectations & Method>(
  method: M,
  about: string,
  result: unknown,
  field: string,
): Result<M> {
  if (!isObject(result) || !(field in result)) throw badResult(method, about, `got ${show(result)}`)
  try {
    return checkSentResult(method, result)
  } catch (cause) {
    const parts = result[field]
    const isEarly = Array.isArray(parts) && parts.some((part) => part instanceof Promise)
    const problem = isEarly ? `${field} has a promise: an await is missing` : (cause as Error).message
    throw badResult(method, about, problem, cause)
  }
}

function badResult(
  method: keyof typeof expectations,
  about: string,
  problem: string,
  cause?: unknown,
): ServerError {
  const expected = `expected ${expectations[method]}`
  return new ServerError('BAD_RESULT', `${about} returned no result: ${expected}; ${problem}`, { cause })
}

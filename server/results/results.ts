import { isObject } from '../../protocol/wire/json.js'
import type { Method, Result } from '../../protocol/messages/methods.js'
import { checkSentResult } from '../../protocol/messages/params.js'
import type { Issue } from '../../protocol/schema/issues.js'
import type { Parsed, Schema } from '../../protocol/schema/schema.js'
import type {
  BlobResourceContents,
  ContentBlock,
  TextContent,
  TextResourceContents,
} from '../../protocol/messages/content.js'
import type { GetPromptResult, PromptMessage } from '../../protocol/messages/prompts.js'
import type { ReadResourceResult } from '../../protocol/messages/resources.js'
import { type CallToolResult, crashMeta } from '../../protocol/messages/tools.js'
import { show } from '../../runtime/base/errors.js'
import {
  built,
  jsonOf,
  type PromptResultBuilder,
  type ResourceResultBuilder,
  type ToolResultBuilder,
} from './builders.js'
import { ServerError } from '../base/errors.js'
import type { ToldCrash } from '../base/exposed-error.js'

/**
 * What a tool may return: text, blocks of content, what `toolResult()` builds, a whole result, or nothing.
 */
export type ToolReturn =
  | string
  | ContentBlock
  | readonly ContentBlock[]
  | ToolResultBuilder
  | CallToolResult
  | undefined

/** The contents of a resource. Default uri: the requested one; default type: the resource's `mimeType`. */
export type Contents =
  | (Omit<TextResourceContents, 'uri'> & { uri?: string })
  | (Omit<BlobResourceContents, 'uri'> & { uri?: string })

/**
 * What `read` may return: text, bytes, contents, a whole result, or `undefined` if there is no such resource.
 */
export type ResourceReturn =
  | string
  | Uint8Array
  | Contents
  | readonly Contents[]
  | ResourceResultBuilder
  | ReadResourceResult
  | undefined

/**
 * What `get` may return: the text of one user message, messages, what `promptResult()` builds, or a result.
 */
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

/** A block of text with the JSON of a value. Throws BAD_RESULT for a value without JSON. */
export function json(value: unknown): TextContent {
  return text(jsonOf(value))
}

/** The result of a tool, from what it returned. Throws BAD_RESULT. */
export function toToolResult(tool: string, given: unknown): CallToolResult {
  const returned = built(given)
  if (returned === undefined) return { content: [] }
  if (typeof returned === 'string') return { content: [text(checkText(tool, returned))] }
  if (isNoText(returned)) {
    const problem = `tool ${show(tool)} returned ${show(returned)}, which is no text: return String(...) or json(...), or describe the value with output`
    throw new ServerError('BAD_RESULT', problem)
  }
  const result = Array.isArray(returned) || isBlock(returned) ? { content: [returned].flat() } : returned
  return check('tools/call', `tool ${show(tool)}`, result)
}

/** A failed result needs no value. Throws, or rejects with, BAD_RESULT if the value does not fit. */
export function toStructuredResult(
  tool: string,
  output: Schema,
  given: unknown,
): CallToolResult | Promise<CallToolResult> {
  const returned = built(given)
  const result = isWhole(returned) ? toToolResult(tool, returned) : undefined
  if (result?.isError === true) return result
  const parsed = output.parse(result === undefined ? returned : result.structuredContent)
  return fitting(tool, parsed, (value) => ({
    ...(result ?? { content: [json(value)] }),
    structuredContent: value,
  }))
}

/** The result of a read; undefined if there is no such resource. Throws BAD_RESULT. */
export function toReadResult(
  asked: { readonly uri: string; readonly mimeType: string | undefined },
  given: unknown,
): ReadResourceResult | undefined {
  const returned = built(given)
  if (returned === undefined) return undefined
  const { uri, mimeType } = asked
  const about = `resource ${show(uri)}`
  if (isObject(returned) && 'contents' in returned) return check('resources/read', about, returned)
  const contents = [returned].flat().map((part) => {
    const content = toContents(part)
    if (isObject(content) && !(content instanceof Promise) && !('text' in content) && !('blob' in content)) {
      const problem = `${about} returned ${show(part)}, which has neither text nor blob: resourceResult().json(value)`
      throw new ServerError('BAD_RESULT', problem)
    }
    return isObject(content) ? { uri, ...(mimeType !== undefined && { mimeType }), ...content } : content
  })
  return check('resources/read', about, { contents })
}

/** The result of a prompt, from what it returned. Throws BAD_RESULT. */
export function toPromptResult(
  prompt: { readonly name: string; readonly description: string | undefined },
  given: unknown,
): GetPromptResult {
  const returned = built(given)
  const { name, description } = prompt
  const whole = isObject(returned) && 'messages' in returned ? returned : { messages: toMessages(returned) }
  const described = { ...(description !== undefined && { description }), ...whole }
  return check('prompts/get', `prompt ${show(name)}`, described)
}

export function toolFailure(message: string): CallToolResult {
  return { content: [text(message)], isError: true }
}

/**
 * The result of a tool that has crashed: for the model, since it is the tool that has failed (specification:
 * tools).
 */
export function toolCrash({ message, error }: ToldCrash): CallToolResult {
  return { ...toolFailure(message), ...(error !== undefined && { _meta: { [crashMeta]: error } }) }
}

export function badArguments(tool: string, issues: readonly Issue[]): CallToolResult {
  const lines = issues.map(({ path, message }) => `- ${path === '' ? 'arguments' : path}: ${message}`)
  return toolFailure(`The arguments for ${tool} are not valid:\n${lines.join('\n')}`)
}

/** Refuses what `String()` makes of a promise that was not awaited. */
function checkText(tool: string, returned: string): string {
  if (returned !== '[object Promise]') return returned
  throw new ServerError(
    'BAD_RESULT',
    `tool ${show(tool)} returned the text of a promise: an await is missing`,
  )
}

/** Whether it is a whole result: a value may have a list of content, too, but hardly one of blocks. */
function isWhole(returned: unknown): returned is CallToolResult {
  return isObject(returned) && Array.isArray(returned.content) && returned.content.every(isBlock)
}

function fitting(
  tool: string,
  parsed: Parsed<unknown> | Promise<Parsed<unknown>>,
  toResult: (value: unknown) => CallToolResult,
): CallToolResult | Promise<CallToolResult> {
  if (parsed instanceof Promise) return parsed.then((late) => fitting(tool, late, toResult))
  if ('value' in parsed) return toResult(parsed.value)
  const problems = parsed.issues.map(({ path, message }) => `${path === '' ? 'value' : path}: ${message}`)
  const problem = `tool ${show(tool)} returned what its output does not allow: ${problems.join('; ')}`
  throw new ServerError('BAD_RESULT', problem, { data: { issues: parsed.issues } })
}

/** A value, or a list of values, where a text was expected. */
function isNoText(returned: unknown): boolean {
  const isValue = (one: unknown) => typeof one !== 'object' || one === null || one instanceof Date
  return isValue(returned) || (Array.isArray(returned) && returned.length > 0 && returned.every(isValue))
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
const mainFields = Object.freeze({
  'tools/call': 'content',
  'resources/read': 'contents',
  'prompts/get': 'messages',
})

function check<M extends keyof typeof expectations & Method>(
  method: M,
  about: string,
  result: unknown,
): Result<M> {
  function bad(problem: string, cause?: unknown): ServerError {
    const text = `${about} returned no result: expected ${expectations[method]}; ${problem}`
    return new ServerError('BAD_RESULT', text, { cause })
  }
  const field = mainFields[method]
  if (!isObject(result) || !(field in result)) throw bad(`got ${show(result)}`)
  try {
    return checkSentResult(method, result)
  } catch (cause) {
    const parts = result[field]
    const isEarly = Array.isArray(parts) && parts.some((part) => part instanceof Promise)
    throw bad(isEarly ? `${field} has a promise: an await is missing` : (cause as Error).message, cause)
  }
}

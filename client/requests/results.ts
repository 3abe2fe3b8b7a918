import type { ImageContent } from '../../protocol/messages/content.js'
import type { GetPromptResult } from '../../protocol/messages/prompts.js'
import type { ReadResourceResult } from '../../protocol/messages/resources.js'
import type { CallToolResult } from '../../protocol/messages/tools.js'

/** The result of a tool, as the server gave it, with shortcuts. */
export interface ToolResult extends CallToolResult {
  /** All texts of the content, joined by line ends; empty when there are none. */
  readonly text: string
  /** The structured content, or else the text read as JSON; undefined when neither is there. */
  readonly json: unknown
  /** All pictures of the content. */
  readonly images: readonly ImageContent[]
}

/** What `resources/read` answered, with shortcuts. */
export interface ResourceResult extends ReadResourceResult {
  /** All parts that are text, joined by line ends; empty when there are none. */
  readonly text: string
  /** The text read as JSON; undefined when it is none. */
  readonly json: unknown
  /** The bytes of every part that is no text. */
  readonly blobs: readonly Uint8Array[]
}

/** What `prompts/get` answered, with a shortcut. */
export interface PromptResult extends GetPromptResult {
  /** All texts of the messages, joined by line ends; empty when there are none. */
  readonly text: string
}

/** Adds the shortcuts without changing what the server gave: they are not among the fields of the result. */
export function toolResult(result: CallToolResult): ToolResult {
  return withShortcuts(result, toolShortcuts)
}

/** The same for the parts of a resource. */
export function resourceResult(result: ReadResourceResult): ResourceResult {
  return withShortcuts(result, resourceShortcuts)
}

/** The same for the messages of a prompt. */
export function promptResult(result: GetPromptResult): PromptResult {
  return withShortcuts(result, promptShortcuts)
}

function withShortcuts<Result extends object, Whole extends Result>(
  result: Result,
  shortcuts: object,
): Whole {
  const whole = Object.create(shortcuts)
  for (const key of Object.keys(result)) {
    const value = result[key as keyof Result]
    // a field that is called as a shortcut, or __proto__: plain assignment would not make it one
    if (key in whole)
      Object.defineProperty(whole, key, { value, writable: true, enumerable: true, configurable: true })
    else whole[key] = value
  }
  return whole
}

const toolShortcuts: object = Object.freeze({
  get text(): string {
    const { content } = this as unknown as CallToolResult
    return textOf(content)
  },
  get json(): unknown {
    const result = this as unknown as CallToolResult
    return Object.hasOwn(result, 'structuredContent')
      ? result.structuredContent
      : parse(textOf(result.content))
  },
  get images(): readonly ImageContent[] {
    const { content } = this as unknown as CallToolResult
    return content.flatMap((block) => (block.type === 'image' ? [block] : []))
  },
})

const resourceShortcuts: object = Object.freeze({
  get text(): string {
    const { contents } = this as unknown as ReadResourceResult
    return contents.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
  },
  get json(): unknown {
    return parse((this as unknown as ResourceResult).text)
  },
  get blobs(): readonly Uint8Array[] {
    const { contents } = this as unknown as ReadResourceResult
    return contents.flatMap((part) => ('blob' in part ? [Buffer.from(part.blob, 'base64')] : []))
  },
})

const promptShortcuts: object = Object.freeze({
  get text(): string {
    const { messages } = this as unknown as GetPromptResult
    return textOf(messages.map(({ content }) => content))
  },
})

function textOf(content: CallToolResult['content']): string {
  let text: string | undefined
  for (const block of content)
    if (block.type === 'text') text = text === undefined ? block.text : `${text}\n${block.text}`
  return text ?? ''
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a text that is no JSON, which most are
  }
}

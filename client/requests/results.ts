import type { ImageContent } from '../../protocol/messages/content.js'
import type { GetPromptResult } from '../../protocol/messages/prompts.js'
import type { ReadResourceResult } from '../../protocol/messages/resources.js'
import { type CallToolResult, crashMeta } from '../../protocol/messages/tools.js'
import { toldCause } from '../calls/errors.js'

/** The result of a tool, with shortcuts. */
export interface ToolResult extends CallToolResult {
  /** All texts of the content, joined by line ends; empty when there are none. */
  readonly text: string
  /** The structured content, or else the text parsed as JSON; undefined when neither is there. */
  readonly json: unknown
  /** All images of the content. */
  readonly images: readonly ImageContent[]
  /** The error behind `isError`, with stack and causes, where the server shows it (`exposeErrors`). */
  readonly cause: Error | undefined
}

/** The result of `resources/read`, with shortcuts. */
export interface ResourceResult extends ReadResourceResult {
  /** All parts that are text, joined by line ends; empty when there are none. */
  readonly text: string
  /** The text parsed as JSON; undefined when it is not JSON. */
  readonly json: unknown
  /** The bytes of all binary parts. */
  readonly blobs: readonly Uint8Array[]
}

/** The result of `prompts/get`, with a shortcut. */
export interface PromptResult extends GetPromptResult {
  /** All texts of the messages, joined by line ends; empty when there are none. */
  readonly text: string
}

/** Shortcuts are not among its own fields. */
export function toolResult(result: CallToolResult): ToolResult {
  return withShortcuts(result, toolShortcuts)
}

/** The result of `resources/read`, with shortcuts that are not among its own fields. */
export function resourceResult(result: ReadResourceResult): ResourceResult {
  return withShortcuts(result, resourceShortcuts)
}

/** The result of `prompts/get`, with shortcuts that are not among its own fields. */
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
    // a field with the name of a shortcut, or __proto__: assignment would not define it
    if (key in whole)
      Object.defineProperty(whole, key, { value, writable: true, enumerable: true, configurable: true })
    else whole[key] = value
  }
  return whole
}

const toolShortcuts = shortcutsOf<CallToolResult>({
  text: ({ content }) => textOf(content),
  json: (result) =>
    Object.hasOwn(result, 'structuredContent') ? result.structuredContent : parse(textOf(result.content)),
  images: ({ content }) => content.flatMap((block) => (block.type === 'image' ? [block] : [])),
  cause: ({ _meta }) => toldCause(_meta?.[crashMeta]),
})

const resourceShortcuts = shortcutsOf<ReadResourceResult>({
  text: textOfParts,
  json: (result) => parse(textOfParts(result)),
  blobs: ({ contents }) =>
    contents.flatMap((part) => ('blob' in part ? [Buffer.from(part.blob, 'base64')] : [])),
})

const promptShortcuts = shortcutsOf<GetPromptResult>({
  text: ({ messages }) => textOf(messages.map(({ content }) => content)),
})

/** Its getters read the result that has it. */
function shortcutsOf<Result>(getters: Readonly<Record<string, (result: Result) => unknown>>): object {
  const shortcuts = {}
  for (const [name, read] of Object.entries(getters))
    Object.defineProperty(shortcuts, name, {
      enumerable: true,
      get(this: Result) {
        return read(this)
      },
    })
  return Object.freeze(shortcuts)
}

function textOfParts({ contents }: ReadResourceResult): string {
  return contents.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

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
    return undefined // most texts are not JSON
  }
}

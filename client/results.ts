import type { CallToolResult } from '../protocol/types/tools.js'

/** The result of a tool, as the server gave it, with a shortcut. */
export interface ToolResult extends CallToolResult {
  /** All texts of the content, joined by line ends; empty when there are none. */
  readonly text: string
}

/** Adds the shortcut without changing what the server gave: it is not among the fields of the result. */
export function toolResult(result: CallToolResult): ToolResult {
  return Object.create(shortcuts, Object.getOwnPropertyDescriptors(result))
}

const shortcuts: object = Object.freeze({
  get text(): string {
    const { content } = this as unknown as CallToolResult
    return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  },
})

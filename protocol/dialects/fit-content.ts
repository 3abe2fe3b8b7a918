import { isObject } from '../wire/json.js'
import { changeField, leaveOut, mapKept } from './fit-fields.js'
import type { Lacks } from './lacks.js'
import type { BlobResourceContents, ContentBlock, TextResourceContents } from '../messages/content.js'
import type { GetPromptResult } from '../messages/prompts.js'
import type { ReadResourceResult } from '../messages/resources.js'
import type { CallToolResult } from '../messages/tools.js'

/** A block of content; a kind that the revision lacks becomes text, and one that nobody knows passes. */
export function fitContent(lacks: Lacks, block: ContentBlock): ContentBlock {
  switch (block.type) {
    case 'audio':
      return fitHints(lacks, lacks.content.includes('audio') ? toText(block, noteOf(block.mimeType)) : block)
    case 'resource_link':
      if (!lacks.content.includes('resource_link')) return leaveOut(block, lacks.fields.resource)
      return fitHints(lacks, toText(block, `${block.title ?? block.name}: ${block.uri}`))
    case 'resource':
      return fitHints(
        lacks,
        changeField(block, 'resource', (contents) => fitContents(lacks, contents)),
      )
    default:
      return fitHints(lacks, block)
  }
}

/**
 * Result of `tools/call`; what only the structured part said becomes text where the revision has no such
 * part, or not with such a value.
 */
export function fitToolResult(lacks: Lacks, result: CallToolResult): CallToolResult {
  const { structuredContent: value, content } = result
  const isLost =
    value !== undefined &&
    (lacks.fields.callToolResult?.includes('structuredContent') || (lacks.objectsOnly && !isObject(value)))
  if (isLost) {
    const kept = leaveOut(result, ['structuredContent'])
    if (content.length > 0) return fitToolResult(lacks, kept)
    return fitToolResult(lacks, { ...kept, content: [{ type: 'text', text: JSON.stringify(value) }] })
  }
  if (lacks.content.length === 0 && lacks.fields.content === undefined) return result
  return changeField(leaveOut(result, lacks.fields.callToolResult), 'content', (blocks) =>
    mapKept(blocks, (block) => fitContent(lacks, block)),
  )
}

/** Result of `prompts/get`. */
export function fitPromptResult(lacks: Lacks, result: GetPromptResult): GetPromptResult {
  return changeField(result, 'messages', (messages) =>
    mapKept(messages, (message) => changeField(message, 'content', (block) => fitContent(lacks, block))),
  )
}

/** Result of `resources/read`. */
export function fitReadResult(lacks: Lacks, result: ReadResourceResult): ReadResourceResult {
  return changeField(result, 'contents', (parts) => mapKept(parts, (part) => fitContents(lacks, part)))
}

/** Whatever carries hints about a piece of content, and a `_meta` of its own. */
export function fitHints<T extends object>(lacks: Lacks, value: T): T {
  const kept: T & { annotations?: object } = leaveOut(value, lacks.fields.content)
  return changeField(kept, 'annotations', (hints) => leaveOut(hints, lacks.fields.annotations))
}

function fitContents<T extends TextResourceContents | BlobResourceContents>(lacks: Lacks, contents: T): T {
  return leaveOut(contents, lacks.fields.resourceContents)
}

function toText({ annotations }: ContentBlock, text: string): ContentBlock {
  return annotations === undefined ? { type: 'text', text } : { type: 'text', text, annotations }
}

function noteOf(mimeType: string): string {
  return `[sound (${mimeType}) left out: the negotiated revision of MCP has no audio]`
}

import { flag, listOf, optional, record, type Shape, shape, text } from '../shape.js'
import type { JsonObject } from '../../wire/json.js'
import type {
  CallToolParams,
  CallToolResult,
  ListToolsResult,
  Tool,
  ToolAnnotations,
} from '../types/tools.js'
import { otherFields, pageFields, retryFields, shownFields } from './base.js'
import { content } from './content.js'

/** A tool as a list shows it. */
export const tool: Shape<Tool> = shape<Tool>({
  ...shownFields,
  inputSchema: record,
  outputSchema: optional(record),
  annotations: optional(
    shape<ToolAnnotations>({
      title: optional(text),
      readOnlyHint: optional(flag),
      destructiveHint: optional(flag),
      idempotentHint: optional(flag),
      openWorldHint: optional(flag),
    }),
  ),
  execution: optional(record),
  ...otherFields,
})

/** Result of `tools/list`. */
export const listToolsResult: Shape<ListToolsResult> = shape<ListToolsResult>({
  tools: listOf(tool),
  ...pageFields,
})

/** Params of `tools/call`. */
export const callToolParams: Shape<CallToolParams> = shape<CallToolParams>({
  name: text,
  arguments: optional(record),
  task: optional(record),
  ...retryFields,
})

/**
 * A result of a tool that has its value elsewhere, as structured content or as a task, has no content when
 * there is none.
 */
export function completedToolResult(result: JsonObject): JsonObject {
  if (result.content !== undefined) return result
  return result.structuredContent === undefined && result.task === undefined
    ? result
    : { ...result, content: [] }
}

/** Result of `tools/call`. */
export const callToolResult: Shape<CallToolResult> = shape<CallToolResult>({
  content: listOf(content),
  isError: optional(flag),
  ...otherFields,
})

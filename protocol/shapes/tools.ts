import { flag, listOf, optional, record, type Shape, shape, text } from '../shape.js'
import type { CallToolParams, CallToolResult, ListToolsResult, Tool } from '../types/tools.js'
import { otherFields, pageFields, retryFields, shownFields } from './base.js'
import { content } from './content.js'

/** A tool as a list shows it. */
export const tool: Shape<Tool> = shape<Tool>({
  ...shownFields,
  inputSchema: record,
  outputSchema: optional(record),
  annotations: optional(record),
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

/** Result of `tools/call`. */
export const callToolResult: Shape<CallToolResult> = shape<CallToolResult>({
  content: listOf(content),
  isError: optional(flag),
  ...otherFields,
})

import type { JsonObject } from '../wire/json.js'
import {
  type BaseMetadata,
  type BaseResult,
  type Icon,
  type Meta,
  metaField,
  type PaginatedResult,
  pageFields,
  type RequestParams,
  type RetryParams,
  resultFields,
  retryFields,
  shownFields,
} from './base.js'
import { type ContentBlock, content } from './content.js'
import { flag, listOf, optional, record, shape, text, unchecked } from './shape.js'

/** A JSON Schema that describes an object. */
export interface ObjectSchema {
  $schema?: string
  type: 'object'
  properties?: Record<string, object>
  required?: string[]
  [keyword: string]: unknown
}

/** Hints about what a tool does; do not trust those of servers that you do not trust. */
export interface ToolAnnotations {
  title?: string
  /** Changes nothing. Default false. */
  readOnlyHint?: boolean
  /** May destroy, not only add. Default true. */
  destructiveHint?: boolean
  /** A second call with the same arguments changes nothing more. Default false. */
  idempotentHint?: boolean
  /** Reaches beyond the server. Default true. */
  openWorldHint?: boolean
}

/** How a tool wants to be run; without `taskSupport` it must not be called as a task. */
export interface ToolExecution {
  taskSupport?: 'forbidden' | 'optional' | 'required'
}

/** A tool as `tools/list` shows it. */
export interface Tool extends BaseMetadata {
  description?: string
  inputSchema: ObjectSchema
  /** Before 2026-07-28 its type is `object`. */
  outputSchema?: { [keyword: string]: unknown }
  annotations?: ToolAnnotations
  execution?: ToolExecution
  icons?: Icon[]
  _meta?: Meta
}

export const tool = shape<Tool>({
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
  ...metaField,
})

/** Result of `tools/list`: one page of tools. */
export interface ListToolsResult extends PaginatedResult {
  tools: Tool[]
}

export const listToolsResult = shape<ListToolsResult>({ tools: listOf(tool), ...pageFields })

/** Asks that a request be run as a task, kept for `ttl` ms. */
export interface TaskMetadata {
  ttl?: number
}

/** Params of `tools/call`; absent arguments are an empty object. */
export interface CallToolParams extends RequestParams, RetryParams {
  name: string
  arguments?: Record<string, unknown>
  task?: TaskMetadata
}

export const callToolParams = shape<CallToolParams>({
  name: text,
  arguments: optional(record),
  task: optional(record),
  ...retryFields,
})

/** Result of `tools/call`; with `isError` the tool itself failed and the model should read why. */
export interface CallToolResult extends BaseResult {
  content: ContentBlock[]
  /** Any JSON value, `null` included; before 2026-07-28 objects only. */
  structuredContent?: unknown
  isError?: boolean
}

/** Where a result with `isError` has the crash behind it, if its server shows that (`exposeErrors`). */
export const crashMeta = 'caduceus/crash'

export const callToolResult = shape<CallToolResult>({
  content: listOf(content),
  structuredContent: unchecked,
  isError: optional(flag),
  ...resultFields,
})

/** Adds the empty list of content that peers leave out beside structured content or a task. */
export function completedToolResult(result: JsonObject): JsonObject {
  if (result.content !== undefined) return result
  return result.structuredContent === undefined && result.task === undefined
    ? result
    : { ...result, content: [] }
}

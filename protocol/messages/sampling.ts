import {
  type BaseResult,
  type Meta,
  metaField,
  type RequestParams,
  type Role,
  requestFields,
  resultFields,
  role,
} from './base.js'
import {
  type AudioContent,
  type ContentBlock,
  content,
  type ImageContent,
  type TextContent,
} from './content.js'
import {
  chosen,
  finite,
  flag,
  listOf,
  loose,
  oneOf,
  optional,
  type Problem,
  record,
  shape,
  text,
} from './shape.js'
import { type TaskMetadata, type Tool, tool } from './tools.js'

/** The model wants a tool called; the answer is a `tool_result` with this id. */
export interface ToolUseContent {
  type: 'tool_use'
  id: string
  name: string
  input: Record<string, unknown>
  _meta?: Meta
}

/** What a tool answered the model. */
export interface ToolResultContent {
  type: 'tool_result'
  toolUseId: string
  content: ContentBlock[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
  _meta?: Meta
}

/** One piece of a conversation with a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

/** One message of a conversation with a model; a list of content since 2025-11-25 only. */
export interface SamplingMessage {
  role: Role
  content: SamplingContent | SamplingContent[]
  _meta?: Meta
}

const type = loose(text)
const toolUse = shape<ToolUseContent>({ type, id: text, name: text, input: record, ...metaField })
const toolResult = shape<ToolResultContent>({
  type,
  toolUseId: text,
  content: listOf(content),
  structuredContent: optional(record),
  isError: optional(flag),
  ...metaField,
})
const block = chosen<SamplingContent>(({ type }) => {
  if (type === 'tool_use') return toolUse
  return type === 'tool_result' ? toolResult : loose(content)
})
const blocks = listOf(block)
const conversation = listOf(shape<SamplingMessage>({ role, content: oneOrMore, ...metaField }))

/** A part of a model's name, such as `sonnet`: advice only. */
export interface ModelHint {
  name?: string
}

/** Which model the server would like: hints by name, the best first, and what matters how much (0 to 1). */
export interface ModelPreferences {
  hints?: ModelHint[]
  costPriority?: number
  speedPriority?: number
  intelligencePriority?: number
}

/** Whether the model may (`auto`, the default), must or must not use tools. */
export interface ToolChoice {
  mode?: 'auto' | 'required' | 'none'
}

/** Params of `sampling/createMessage`: asks the client to have its model go on with a conversation. */
export interface CreateMessageParams extends RequestParams {
  messages: SamplingMessage[]
  /** Never to be exceeded. */
  maxTokens: number
  modelPreferences?: ModelPreferences
  systemPrompt?: string
  /** Default `none`; the others only for clients with `sampling.context`. */
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  stopSequences?: string[]
  /** For the provider of the model, in its own terms. */
  metadata?: Record<string, unknown>
  /** Only for clients with `sampling.tools`. */
  tools?: Tool[]
  toolChoice?: ToolChoice
  task?: TaskMetadata
}

/** Tool uses and results have to match (specification: 2025-11-25, sampling). */
export const createMessageParams = shape<CreateMessageParams>({
  messages,
  maxTokens: finite,
  modelPreferences: optional(record),
  systemPrompt: optional(text),
  includeContext: optional(oneOf('none', 'thisServer', 'allServers')),
  temperature: optional(finite),
  stopSequences: optional(listOf(text)),
  metadata: optional(record),
  tools: optional(listOf(tool)),
  toolChoice: optional(record),
  task: optional(record),
  ...requestFields,
})

/** Result of `sampling/createMessage`: what the model said, and which model it was. */
export interface CreateMessageResult extends BaseResult {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's own word. */
  stopReason?: string
}

export const createMessageResult = shape<CreateMessageResult>({
  role,
  content: oneOrMore,
  model: text,
  stopReason: optional(text),
  ...resultFields,
})

function oneOrMore(value: unknown): Problem | undefined {
  return Array.isArray(value) ? blocks(value) : block(value)
}

function messages(value: unknown): Problem | undefined {
  return conversation(value) ?? findImbalance(value as readonly SamplingMessage[])
}

/** The next message, the user's, answers every tool use and has nothing else. */
function findImbalance(all: readonly SamplingMessage[]): Problem | undefined {
  let open: readonly string[] = []
  for (const [index, { role, content }] of all.entries()) {
    const parts = Array.isArray(content) ? content : [content]
    const answered = parts.filter(isToolResult).map(({ toolUseId }) => toolUseId)
    const problem = judge(open, answered, parts.length, role)
    if (problem !== undefined) return { path: `[${index}]`, ...problem }
    open = parts.filter(isToolUse).map(({ id }) => id)
  }
  if (open.length === 0) return undefined
  return { path: '', expected: 'a tool_result for every tool_use', got: 'a tool_use as the end' }
}

function judge(
  open: readonly string[],
  answered: readonly string[],
  partCount: number,
  role: SamplingMessage['role'],
): Omit<Problem, 'path'> | undefined {
  if (open.length === 0 && answered.length === 0) return undefined
  if (role === 'assistant')
    return { expected: 'tool results from the user', got: 'a message of the assistant' }
  if (answered.length < partCount) {
    return { expected: 'tool results and nothing else', got: 'other content among them' }
  }
  const ids = new Set(answered)
  if (open.length === answered.length && open.every((id) => ids.has(id))) return undefined
  return { expected: 'one tool_result for every tool_use of the message before', got: 'others' }
}

function isToolUse(part: SamplingContent): part is ToolUseContent {
  return part.type === 'tool_use'
}

function isToolResult(part: SamplingContent): part is ToolResultContent {
  return part.type === 'tool_result'
}

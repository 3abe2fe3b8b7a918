import type { BaseResult, Meta, RequestParams, Role } from './base.js'
import type { AudioContent, ContentBlock, ImageContent, TextContent } from './content.js'
import type { TaskMetadata, Tool } from './tools.js'

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

/** Result of `sampling/createMessage`: what the model said, and which model it was. */
export interface CreateMessageResult extends BaseResult {
  role: Role
  content: SamplingContent | SamplingContent[]
  model: string
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or the provider's own word. */
  stopReason?: string
}

import type {
  BaseMetadata,
  BaseResult,
  Icon,
  Meta,
  PaginatedResult,
  RequestParams,
  RetryParams,
  Role,
} from './base.js'
import type { ContentBlock } from './content.js'

/** What a prompt wants to know; its value is a string. */
export interface PromptArgument extends BaseMetadata {
  description?: string
  /** Default false. */
  required?: boolean
}

/** A prompt as `prompts/list` shows it. */
export interface Prompt extends BaseMetadata {
  description?: string
  arguments?: PromptArgument[]
  icons?: Icon[]
  _meta?: Meta
}

/** Result of `prompts/list`: one page of prompts. */
export interface ListPromptsResult extends PaginatedResult {
  prompts: Prompt[]
}

/** Params of `prompts/get`; absent arguments are an empty object. */
export interface GetPromptParams extends RequestParams, RetryParams {
  name: string
  arguments?: Record<string, string>
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role
  content: ContentBlock
}

/** Result of `prompts/get`. */
export interface GetPromptResult extends BaseResult {
  description?: string
  messages: PromptMessage[]
}

import {
  type BaseMetadata,
  type BaseResult,
  type Icon,
  type Meta,
  maxArguments,
  metaField,
  namedFields,
  type PaginatedResult,
  pageFields,
  type RequestParams,
  type RetryParams,
  type Role,
  resultFields,
  retryFields,
  role,
  shownFields,
} from './base.js'
import { type ContentBlock, content } from './content.js'
import { flag, listOf, optional, recordOf, shape, text } from './shape.js'

/** An argument of a prompt; its value is a string. */
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

const prompt = shape<Prompt>({
  ...shownFields,
  arguments: optional(listOf(shape<PromptArgument>({ ...namedFields, required: optional(flag) }))),
  ...metaField,
})
export const listPromptsResult = shape<ListPromptsResult>({ prompts: listOf(prompt), ...pageFields })

/** Params of `prompts/get`; absent arguments are an empty object. */
export interface GetPromptParams extends RequestParams, RetryParams {
  name: string
  arguments?: Record<string, string>
}

export const getPromptParams = shape<GetPromptParams>({
  name: text,
  arguments: optional(recordOf(text, maxArguments)),
  ...retryFields,
})

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

export const getPromptResult = shape<GetPromptResult>({
  description: optional(text),
  messages: listOf(shape<PromptMessage>({ role, content })),
  ...resultFields,
})

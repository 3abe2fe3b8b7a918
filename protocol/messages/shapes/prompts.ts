import { flag, listOf, optional, recordOf, type Shape, shape, text } from '../shape.js'
import type {
  GetPromptParams,
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from '../types/prompts.js'
import { namedFields, otherFields, pageFields, retryFields, role, shownFields } from './base.js'
import { content } from './content.js'

const prompt = shape<Prompt>({
  ...shownFields,
  arguments: optional(listOf(shape<PromptArgument>({ ...namedFields, required: optional(flag) }))),
  ...otherFields,
})

/** Result of `prompts/list`. */
export const listPromptsResult: Shape<ListPromptsResult> = shape<ListPromptsResult>({
  prompts: listOf(prompt),
  ...pageFields,
})

/** Params of `prompts/get`. */
export const getPromptParams: Shape<GetPromptParams> = shape<GetPromptParams>({
  name: text,
  arguments: optional(recordOf(text)),
  ...retryFields,
})

/** Result of `prompts/get`. */
export const getPromptResult: Shape<GetPromptResult> = shape<GetPromptResult>({
  description: optional(text),
  messages: listOf(shape<PromptMessage>({ role, content })),
  ...otherFields,
})

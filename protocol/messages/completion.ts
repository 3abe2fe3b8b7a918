import {
  type BaseMetadata,
  type BaseResult,
  maxArguments,
  type RequestParams,
  requestFields,
  resultFields,
} from './base.js'
import { chosen, finite, flag, listOf, loose, oneOf, optional, recordOf, shape, text } from './shape.js'

/** Names a prompt. */
export interface PromptReference extends BaseMetadata {
  type: 'ref/prompt'
}

/** Names a resource, or a family of them by its URI template. */
export interface ResourceTemplateReference {
  type: 'ref/resource'
  uri: string
}

/** Params of `completion/complete`: whose argument it is, and what is typed so far. */
export interface CompleteParams extends RequestParams {
  ref: PromptReference | ResourceTemplateReference
  argument: { name: string; value: string }
  /** The arguments that are chosen already. */
  context?: { arguments?: Record<string, string> }
}

const type = loose(oneOf('ref/prompt', 'ref/resource'))
const toPrompt = shape<PromptReference>({ type, name: text, title: optional(text) })
const toResource = shape<ResourceTemplateReference>({ type, uri: text })
export const completeParams = shape<CompleteParams>({
  ref: chosen<CompleteParams['ref']>(({ type }) => (type === 'ref/resource' ? toResource : toPrompt)),
  argument: shape<CompleteParams['argument']>({ name: text, value: text }),
  context: optional(
    shape<{ arguments?: Record<string, string> }>({ arguments: optional(recordOf(text, maxArguments)) }),
  ),
  ...requestFields,
})

/** Suggestions, best first, at most 100; `total` counts those that were left out too. */
export interface Completion {
  values: string[]
  total?: number
  hasMore?: boolean
}

/** Result of `completion/complete`. */
export interface CompleteResult extends BaseResult {
  completion: Completion
}

export const completeResult = shape<CompleteResult>({
  completion: shape<Completion>({ values: listOf(text), total: optional(finite), hasMore: optional(flag) }),
  ...resultFields,
})

/** The values that one answer may have (specification: completion). */
export const maxCompletionValues = 100

/** The completion with no more values than an answer may have; those left out are counted in `total`. */
export function limitCompletion(completion: Completion): Completion {
  const { values } = completion
  if (values.length <= maxCompletionValues) return completion
  const total = Math.max(completion.total ?? 0, values.length)
  return { ...completion, values: values.slice(0, maxCompletionValues), total, hasMore: true }
}

import type { BaseMetadata, BaseResult, RequestParams } from './base.js'

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

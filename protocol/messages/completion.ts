import type { Completion } from './types/completion.js'

/** The values that one answer may have (specification: completion). */
export const maxCompletionValues = 100

/**
 * The completion with no more values than an answer may have; those left out are counted, and said to be
 * there.
 */
export function limitCompletion(completion: Completion): Completion {
  const { values } = completion
  if (values.length <= maxCompletionValues) return completion
  const total = Math.max(completion.total ?? 0, values.length)
  return { ...completion, values: values.slice(0, maxCompletionValues), total, hasMore: true }
}

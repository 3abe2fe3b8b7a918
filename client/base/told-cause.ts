import { isObject } from '../../protocol/wire/json.js'

/** How many errors of a chain of causes are believed. */
const deepest = 5

/**
 * The crash behind an answer, where the server tells it in `data.error` (option `exposeErrors`): an Error
 * with its name, message, stack and cause.
 */
export function toldCause(data: unknown): Error | undefined {
  return isObject(data) ? rebuilt(data.error, 1) : undefined
}

function rebuilt(told: unknown, depth: number): Error | undefined {
  if (depth > deepest || !isObject(told)) return undefined
  const { name, message, stack, cause } = told
  if (typeof message !== 'string' || typeof stack !== 'string') return undefined
  const inner = rebuilt(cause, depth + 1)
  const error = new Error(message, inner === undefined ? undefined : { cause: inner })
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true })
  if (typeof name === 'string' && name !== error.name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return error
}

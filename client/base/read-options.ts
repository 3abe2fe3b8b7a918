import { optionReaders } from '../../runtime/base/read-options.js'
import { optionError } from './errors.js'

/** Former names of options. */
const formerNames = Object.freeze({ maxLineBytes: 'maxMessageBytes' })

/** The readers of this floor: each throws BAD_OPTION, naming the field. */
export const {
  badOption: bad,
  readObject,
  readFields,
  readMs,
  readText,
  readFunction,
  readCount,
  readFlag,
  readWord,
} = optionReaders(optionError, formerNames)

/**
 * The first argument of a method. For an object, as other libraries take it, the BAD_OPTION shows the `form`.
 */
export function readArgument(value: unknown, field: string, form: string): string {
  if (typeof value === 'object' && value !== null && field in value)
    throw bad(field, `a non-empty string, as in ${form}`, value)
  return readText(value, field)
}

/** The last argument of a method, an object such as `example`. Throws BAD_OPTION. */
export function readOptions(
  value: unknown,
  known: readonly string[],
  example: string,
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw bad('options', `an object such as ${example}`, value)
  return readFields(value, 'options', known)
}

/** An AbortSignal, or nothing. Throws BAD_OPTION. */
export function readSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw bad('signal', 'an AbortSignal', value)
}

import { optionReaders } from '../../runtime/base/read-options.js'
import { optionError } from './errors.js'

/** They throw BAD_OPTION, naming the field. */
export const {
  badOption: bad,
  readObject,
  readFields,
  readGroup,
  readMs,
  readText,
  readFunction,
  readCount,
  readFlag,
  readWord,
} = optionReaders(optionError)

/** For an object, as other libraries take it, BAD_OPTION shows the `form`. */
export function readArgument(value: unknown, field: string, form: string): string {
  if (typeof value === 'object' && value !== null && field in value)
    throw bad(field, `a non-empty string, as in ${form}`, value)
  return readText(value, field)
}

/** An object such as `example`. Throws BAD_OPTION. */
export function readOptions(
  value: unknown,
  known: readonly string[],
  example: string,
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw bad('options', `an object such as ${example}`, value)
  return readFields(value, 'options', known)
}

/** Throws BAD_OPTION. */
export function readSignal(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value
  throw bad('signal', 'an AbortSignal', value)
}

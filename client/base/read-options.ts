import { among } from '../../runtime/base/near.js'
import { show } from '../../runtime/base/errors.js'
import { type ClientError, optionError } from './errors.js'

/** A number of milliseconds above 0; Infinity is one. Throws BAD_OPTION. */
export function readMs(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && value > 0) return value
  throw bad(field, 'milliseconds above 0', value)
}

/** A name or other text that must not be empty. Throws BAD_OPTION. */
export function readText(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw bad(field, 'a non-empty string', value)
}

/**
 * A text that a method takes first, and not within an object as other libraries want it. Throws BAD_OPTION
 * that shows the form.
 */
export function readArgument(value: unknown, field: string, form: string): string {
  if (typeof value === 'object' && value !== null && field in value)
    throw bad(field, `a non-empty string, as in ${form}`, value)
  return readText(value, field)
}

/** A function. Throws BAD_OPTION. */
export function readFunction(value: unknown, field: string): void {
  if (typeof value !== 'function') throw bad(field, 'a function', value)
}

/** A whole number above 0. Throws BAD_OPTION. */
export function readCount(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw bad(field, 'a whole number above 0', value)
}

/** The BAD_OPTION error that names a field, what was expected of it and what came. */
export function bad(field: string, expected: string, got: unknown): ClientError {
  return optionError(field, `${field}: expected ${expected}, got ${show(got)}`)
}

/** What options were called before they had one name for one thing. */
const formerNames = Object.freeze({ maxLineBytes: 'maxMessageBytes' })

/** Checks that `value` is an object with known fields only. Throws BAD_OPTION. */
export function readFields(value: unknown, where: string, known: readonly string[]): Record<string, unknown> {
  const given = readObject(value, where)
  const unknown = Object.keys(given).find((field) => !known.includes(field))
  if (unknown !== undefined) throw bad(unknown, among('a field', known, unknown, formerNames), unknown)
  return given
}

/** The last argument of a method, which is an object in the form of `example`. Throws BAD_OPTION. */
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

/** An object that is no array. Throws BAD_OPTION. */
export function readObject(value: unknown, field: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw bad(field, 'an object', value)
}

/** A boolean. Throws BAD_OPTION. */
export function readFlag(value: unknown, field: string, fallback: boolean): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw bad(field, 'true or false', value)
}

/** One of a few words. Throws BAD_OPTION. */
export function readWord<const Word extends string>(
  value: unknown,
  field: string,
  words: readonly [Word, ...Word[]],
): Word {
  const word = words.find((known) => known === value)
  if (word !== undefined) return word
  throw bad(field, words.map((known) => `'${known}'`).join(' or '), value)
}

import { among } from '../../runtime/base/near.js'
import { show } from '../../runtime/base/errors.js'
import { type TransportError, optionError } from './errors.js'

/** Checks one option; returns the value, or throws BAD_OPTION with `data.field`. */
export type Read<T> = (value: unknown, field: string) => T

/** The BAD_OPTION error that names a field, what was expected of it and what came. */
export function badOption(field: string, expected: string, got: unknown): TransportError {
  const message = `${field}: expected ${expected}, got ${show(got)}`
  return optionError(field, message)
}

/** What options were called before they had one name for one thing. */
const formerNames = Object.freeze({ maxBodyBytes: 'maxMessageBytes', maxLineBytes: 'maxMessageBytes' })

/**
 * Checks that `options` is an object with known fields only; `prefix` stands before their names in errors.
 */
export function readFields(
  options: unknown,
  where: string,
  known: readonly string[],
  prefix = '',
): Record<string, unknown> {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw badOption(where, 'an object', options)
  const unknown = Object.keys(options).find((field) => !known.includes(field))
  if (unknown !== undefined)
    throw badOption(`${prefix}${unknown}`, among('an option', known, unknown, formerNames), unknown)
  return options as Record<string, unknown>
}

/** The same check for an option that may be left out, with its default. */
export function orElse<T, Fallback>(read: Read<T>, fallback: Fallback): Read<T | Fallback> {
  return (value, field) => (value === undefined ? fallback : read(value, field))
}

/** Milliseconds of 0 or more; Infinity is one. */
export const readDelay: Read<number> = (value, field) => {
  if (typeof value === 'number' && value >= 0) return value
  throw badOption(field, 'milliseconds of 0 or more', value)
}

/** A number of milliseconds above 0; Infinity is one. */
export const readMs: Read<number> = (value, field) => {
  if (typeof value === 'number' && value > 0) return value
  throw badOption(field, 'milliseconds above 0', value)
}

/** A whole number above 0. */
export const readCount: Read<number> = (value, field) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw badOption(field, 'a whole number above 0', value)
}

/** A string that is not empty and has no NUL, which no system call takes. */
export const readText: Read<string> = (value, field) => {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw badOption(field, 'a non-empty string without NUL', value)
}

/** A boolean. */
export const readFlag: Read<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value
  throw badOption(field, 'true or false', value)
}

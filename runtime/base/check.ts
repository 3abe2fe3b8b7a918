import { type RuntimeError, show, optionError } from './errors.js'
import { among } from './near.js'

/** Throws BAD_OPTION unless `options` is an object with known fields only. */
export function checkFields(options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw badOption('options', 'an object', options)
  for (const field of Object.keys(options))
    if (!known.includes(field)) throw badOption(field, among('an option', known, field), field)
}

export function checkFunction(fn: unknown, field: string): void {
  if (typeof fn !== 'function') throw badOption(field, 'a function', fn)
}

export function checkName(name: unknown, field = 'name'): asserts name is string {
  if (typeof name !== 'string' || name === '') throw badOption(field, 'a non-empty string', name)
}

/** Throws BAD_OPTION unless `value` is a whole number of 0 or more, or Infinity. */
export function checkCount(value: unknown, field: string): void {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) >= 0)) return
  throw badOption(field, 'a whole number of 0 or more, or Infinity', value)
}

/** The BAD_OPTION error that says what was expected and what came. */
export function badOption(field: string, expected: string, got: unknown): RuntimeError {
  return optionError(field, `${field}: expected ${expected}, got ${show(got)}`)
}

import { show } from './errors.js'
import { among } from './near.js'

/** Returns an option's value, or `fallback` for undefined. Throws BAD_OPTION. */
type ReadOption<Value> = (value: unknown, field: string, fallback?: Value) => Value

/** Readers of one floor's options; `formerNames` maps old names of fields to new ones, for suggestions. */
export function optionReaders<Failure extends Error>(
  makeError: (field: string, problem: string) => Failure,
  formerNames: Readonly<Record<string, string>> = {},
) {
  function badOption(field: string, expected: string, got: unknown): Failure {
    return makeError(field, `${field}: expected ${expected}, got ${show(got)}`)
  }

  function reader<Value>(expected: string, fits: (value: unknown) => value is Value): ReadOption<Value> {
    return (value, field, fallback) => {
      if (value === undefined && fallback !== undefined) return fallback
      if (fits(value)) return value
      throw badOption(field, expected, value)
    }
  }

  const readObject = reader('an object', isRecord)

  /**
   * An object with known fields only; `prefix` precedes an unknown one in the error, and `example` is a call
   * that has such an object.
   */
  function readFields(value: unknown, where: string, known: readonly string[], prefix = '', example = '') {
    if (example !== '' && !isRecord(value)) throw badOption(where, `an object, as in ${example}`, value)
    const given = readObject(value, where)
    const unknown = Object.keys(given).find((field) => !known.includes(field))
    if (unknown !== undefined)
      throw badOption(`${prefix}${unknown}`, among('an option', known, unknown, formerNames), unknown)
    return given
  }

  function readWord<const Word extends string>(
    value: unknown,
    field: string,
    words: readonly [Word, ...Word[]],
  ): Word {
    const word = words.find((known) => known === value)
    if (word !== undefined) return word
    throw badOption(field, words.map((known) => `'${known}'`).join(' or '), value)
  }

  return {
    badOption,
    readObject,
    readFields,
    readWord,
    readMs: reader('milliseconds above 0', isPositive),
    readDelay: reader('milliseconds of 0 or more', isDelay),
    readCount: reader('a whole number above 0', isCount),
    readLimit: reader('a whole number above 0, or Infinity', isLimit),
    readText: reader('a non-empty string', isText),
    readFlag: reader('true or false', isFlag),
    readFunction: reader('a function', isFunction),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function isCount(value: unknown): value is number {
  return isPositive(value) && Number.isSafeInteger(value)
}

function isLimit(value: unknown): value is number {
  return value === Number.POSITIVE_INFINITY || isCount(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isFunction(value: unknown): value is (...args: never[]) => unknown {
  return typeof value === 'function'
}

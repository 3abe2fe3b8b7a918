import { show } from './errors.js'
import { nearest } from './near.js'

/** Checks one option; returns the value, or throws BAD_OPTION with `data.field`. */
export type Read<T> = (value: unknown, field: string) => T

export type Readers = { readonly [field: string]: Read<unknown> }

/** What a table of readers makes of options. */
export type ReadWith<Table extends Readers> = { readonly [Field in keyof Table]: ReturnType<Table[Field]> }

/** The same check for an option that may be left out, with its default. */
export function orElse<T, Fallback>(read: Read<T>, fallback: Fallback): Read<T | Fallback> {
  return (value, field) => (value === undefined ? fallback : read(value, field))
}

/** Where options belong that are none here. */
type OtherPlaces = { readonly [field: string]: string }

/** Returns an option's value, or `fallback` for undefined. Throws BAD_OPTION. */
type ReadOption<Value> = (value: unknown, field: string, fallback?: Value) => Value

/** Readers of one floor's options. */
export function optionReaders<Failure extends Error>(makeError: (field: string, problem: string) => Failure) {
  /** Without what was given, where that may be a secret. */
  function badOption(field: string, expected: string, ...got: readonly [got?: unknown]): Failure {
    const given = got.length === 0 ? '' : `, got ${show(got[0])}`
    return makeError(field, `${field}: expected ${expected}${given}`)
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
   * An object with known fields only; `prefix` precedes an unknown one in the error, `example` is a call that has
   * such an object, and `elsewhere` says where other fields belong.
   */
  function readFields(
    value: unknown,
    where: string,
    known: readonly string[],
    prefix = '',
    example = '',
    elsewhere: OtherPlaces = {},
  ) {
    if (example !== '' && !isRecord(value)) throw badOption(where, `an object, as in ${example}`, value)
    const given = readObject(value, where)
    const unknown = Object.keys(given).find((field) => !known.includes(field))
    if (unknown === undefined) return given
    const near = nearest(unknown, known)
    const meant = near === undefined ? '' : ` (did you mean ${JSON.stringify(`${prefix}${near}`)}?)`
    const hint = Object.hasOwn(elsewhere, unknown) ? ` (${elsewhere[unknown]})` : meant
    throw badOption(`${prefix}${unknown}`, `an option among ${known.join(', ')}${hint}`, unknown)
  }

  /**
   * Reads options by a table; frozen. `where` is the field that they are part of, and `example` a call that has
   * such options. Throws BAD_OPTION.
   */
  function readOptions<Table extends Readers>(
    options: unknown,
    table: Table,
    where?: string,
    example?: string,
    elsewhere?: OtherPlaces,
  ): ReadWith<Table> {
    const prefix = where === undefined ? '' : `${where}.`
    const given = readFields(options, where ?? 'options', Object.keys(table), prefix, example, elsewhere)
    const read = Object.entries(table).map(([name, reader]) => [
      name,
      reader(given[name], `${prefix}${name}`),
    ])
    return Object.freeze(Object.fromEntries(read))
  }

  /** Options that are read together, as one option of others; each may be left out, and so may all. */
  function readGroup<Table extends Readers>(table: Table): Read<ReadWith<Table>> {
    return (value = {}, field) => readOptions(value, table, field)
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
    readOptions,
    readGroup,
    readWord,
    readMs: reader('milliseconds above 0', isPositive),
    readDelay: reader('milliseconds of 0 or more', isDelay),
    readCount: reader('a whole number above 0', isCount),
    readLimit: reader('a whole number above 0, or Infinity', isLimit),
    readAmount: reader('a whole number of 0 or more, or Infinity', isAmount),
    readText: reader('a non-empty string', isText),
    readFlag: reader('true or false', isFlag),
    readFunction: reader('a function', isFunction),
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
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

function isAmount(value: unknown): value is number {
  return value === 0 || isLimit(value)
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

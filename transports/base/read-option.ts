import { optionReaders } from '../../runtime/base/read-options.js'
import { optionError } from './errors.js'

/** Checks one option; returns the value, or throws BAD_OPTION with `data.field`. */
export type Read<T> = (value: unknown, field: string) => T

/** What options were called before they had one name for one thing. */
const formerNames = Object.freeze({ maxBodyBytes: 'maxMessageBytes', maxLineBytes: 'maxMessageBytes' })

/** The readers of this floor: each throws BAD_OPTION, naming the field. */
export const { badOption, readFields, readDelay, readMs, readCount, readFlag } = optionReaders(
  optionError,
  formerNames,
)

/** The same check for an option that may be left out, with its default. */
export function orElse<T, Fallback>(read: Read<T>, fallback: Fallback): Read<T | Fallback> {
  return (value, field) => (value === undefined ? fallback : read(value, field))
}

/** A string that is not empty and has no NUL, which no system call takes. */
export const readText: Read<string> = (value, field) => {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw badOption(field, 'a non-empty string without NUL', value)
}

/** A port to listen on; 0: any. */
export const readPort: Read<number> = (value, field) => {
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535) return Number(value)
  throw badOption(field, 'a port from 0 to 65535', value)
}

export type Readers = { readonly [field: string]: Read<unknown> }

/** What a table of readers makes of options. */
export type ReadWith<Table extends Readers> = { readonly [Field in keyof Table]: ReturnType<Table[Field]> }

/**
 * Reads options by a table; frozen. `where` is the field that they are part of, and `example` a call that has
 * such options. Throws BAD_OPTION.
 */
export function readOptions<Table extends Readers>(
  options: unknown,
  table: Table,
  where?: string,
  example?: string,
): ReadWith<Table> {
  const prefix = where === undefined ? '' : `${where}.`
  const given = readFields(options, where ?? 'options', Object.keys(table), prefix, example)
  const read = Object.entries(table).map(([name, reader]) => [name, reader(given[name], `${prefix}${name}`)])
  return Object.freeze(Object.fromEntries(read))
}

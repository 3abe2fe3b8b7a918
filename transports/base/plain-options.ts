import { show } from '../../runtime/base/errors.js'
import { optionError } from './errors.js'

/**
 * A copy of options as plain data, which another process can be given. Throws BAD_OPTION for anything else in
 * them, and names where it is.
 */
export function plainOptions(options: object): object {
  return copy(options, '') as object
}

function copy(value: unknown, field: string): unknown {
  if (isPlain(value)) return value
  // without the rest of the memory that a small Buffer is a part of
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map((item: unknown, i) => copy(item, `${field}[${i}]`))
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        copy(item, field === '' ? name : `${field}.${name}`),
      ]),
    )
  const why = `${field}: ${show(value)} cannot be given to another process`
  throw optionError(field, `${why}: export \`options\` with the transport from the server's module instead`)
}

function isPlain(value: unknown): boolean {
  return value === null || !['object', 'function', 'symbol'].includes(typeof value)
}

/** An object without a class. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

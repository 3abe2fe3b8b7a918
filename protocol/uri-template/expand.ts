import { ProtocolError } from '../wire/errors.js'
import { kindOf } from '../wire/json.js'
import type { TemplateValues } from './uri-template.js'
import { type Expression, type OperatorRow, operators, type Part, type VariableSpec } from './parts.js'

/** Writes the uri of these values (RFC 6570, section 3.2). Throws ProtocolError BAD_TEMPLATE. */
export function expand(parts: readonly Part[], values: TemplateValues): string {
  return parts
    .map((part) => (typeof part === 'string' ? encode(part, true) : expression(part, values)))
    .join('')
}

function expression({ operator, variables }: Expression, values: TemplateValues): string {
  const row: OperatorRow = operators[operator]
  const written = variables.flatMap((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined
    return write(variable, value, row) ?? []
  })
  return written.length === 0 ? '' : row.first + written.join(row.separator)
}

/** Undefined for a value that counts as not given: none, an empty list, an empty object. */
function write(variable: VariableSpec, value: unknown, row: OperatorRow): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'object') return writeMany(variable, entriesOf(variable, value), row)
  const text = textOf(variable, value)
  const start = variable.prefix === undefined ? text : [...text].slice(0, variable.prefix).join('')
  return withName(variable.name, encode(start, row.reserved), row)
}

function writeMany(
  { name, explode, prefix }: VariableSpec,
  entries: readonly (readonly [string | undefined, string])[],
  row: OperatorRow,
): string | undefined {
  if (prefix !== undefined) throw bad(name, 'text, since only that has first characters')
  if (entries.length === 0) return undefined
  const parts = entries.map(([key, value]) => {
    const text = encode(value, row.reserved)
    if (key === undefined) return explode ? withName(name, text, row) : text
    const field = encode(key, row.reserved)
    if (!explode) return `${field},${text}`
    return row.named ? withName(field, text, row) : `${field}=${text}`
  })
  return explode ? parts.join(row.separator) : withName(name, parts.join(','), row)
}

function withName(name: string, text: string, { named, ifEmpty }: OperatorRow): string {
  if (!named) return text
  return text === '' ? name + ifEmpty : `${name}=${text}`
}

function entriesOf(variable: VariableSpec, value: object): (readonly [string | undefined, string])[] {
  if (Array.isArray(value)) return value.map((item) => [undefined, textOf(variable, item)])
  const entries: [string, unknown][] = Object.entries(value)
  return entries
    .filter(([, field]) => field !== undefined && field !== null)
    .map(([key, field]) => [key, textOf(variable, field)])
}

function textOf({ name }: VariableSpec, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
    return String(value)
  throw bad(name, `text, a number or a boolean, got ${kindOf(value)}`)
}

const reservedOrEncoded = /%[\da-fA-F]{2}|[:/?#[\]@!$&'()*+,;=]/g

function encode(text: string, keepsReserved: boolean): string {
  if (!keepsReserved) return encodeStrictly(text)
  let written = ''
  let end = 0
  for (const { 0: kept, index } of text.matchAll(reservedOrEncoded)) {
    written += encodeStrictly(text.slice(end, index)) + kept
    end = index + kept.length
  }
  return written + encodeStrictly(text.slice(end))
}

const loneHalf = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/**
 * All but letters, digits, `-`, `.`, `_` and `~`; half a surrogate pair becomes U+FFFD, as everywhere in
 * URLs.
 */
function encodeStrictly(text: string): string {
  const whole = encodeURIComponent(text.replace(loneHalf, '\ufffd'))
  return whole.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

function bad(name: string, expected: string): ProtocolError {
  return new ProtocolError('BAD_TEMPLATE', `uri template: ${name}: expected ${expected}`)
}

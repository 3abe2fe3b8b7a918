import { ProtocolError } from '../wire/errors.js'
import { kindOf } from '../wire/json.js'
import { compileMatch } from './match.js'
import {
  badTemplate,
  type Expression,
  type OperatorRow,
  operators,
  type Part,
  readParts,
  type TemplateValue,
  type VariableSpec,
} from './parts.js'

/** Values for the variables of a template; those left out are not written. */
interface TemplateValues {
  readonly [name: string]: TemplateValue | number | boolean | undefined
}

/** A URI template (RFC 6570, all four levels): it writes URIs, and reads the variables of a URI. */
export interface UriTemplate {
  readonly template: string
  /** In the order of the template. */
  readonly variables: readonly string[]
  /** Writes the URI of these values (RFC 6570, section 3). Throws BAD_TEMPLATE. */
  expand(values: TemplateValues): string
  /**
   * The variables of a URI, percent-decoded; undefined when it does not fit. `{name}` takes one or more
   * unreserved characters, `{+name}` any; earlier variables take the most. `{?a,b}`, `{&a}` and `{;a}` take
   * their names in any order, or none; `{/path*}` is a list, `{?rest*}` an object. The time is linear in the
   * length of the URI.
   */
  match(uri: string): Readonly<Record<string, TemplateValue>> | undefined
}

/** The variables of a template written as a literal; those of a plain string are not known. */
export type TemplateVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : FlatVariables<
      { readonly [V in VariableIn<Template> as V['always'] extends true ? V['name'] : never]: V['value'] } & {
        readonly [V in VariableIn<Template> as V['always'] extends true ? never : V['name']]?: V['value']
      }
    >

type FlatVariables<T> = { [Key in keyof T]: T[Key] }

type VariableIn<Template extends string> = Template extends `${string}{${infer Inner}}${infer Rest}`
  ? InExpression<Inner> | VariableIn<Rest>
  : never

type InExpression<Inner extends string> = Inner extends `${'?' | '&'}${infer Names}`
  ? OneOf<Names, false, Readonly<Record<string, string>>>
  : Inner extends `;${infer Names}`
    ? OneOf<Names, false, Readonly<Record<string, string>>>
    : Inner extends `${'+' | '#' | '.' | '/'}${infer Names}`
      ? OneOf<Names, true, readonly string[]>
      : OneOf<Inner, true, readonly string[]>

type OneOf<Names extends string, Always, Exploded> = Names extends `${infer First},${infer Rest}`
  ? Variable<First, Always, Exploded> | OneOf<Rest, Always, Exploded>
  : Variable<Names, Always, Exploded>

type Variable<Spec extends string, Always, Exploded> = Spec extends `${infer Name}*`
  ? { readonly name: Name; readonly always: Always; readonly value: Exploded }
  : Spec extends `${infer Name}:${number}`
    ? { readonly name: Name; readonly always: Always; readonly value: string }
    : { readonly name: Spec; readonly always: Always; readonly value: string }

/** Reads a URI template. Throws BAD_TEMPLATE for what is none, has no variables, or has one of them twice. */
export function parseUriTemplate(template: string): UriTemplate {
  const parts = readParts(template)
  const variables = parts.filter(isExpression).flatMap(({ variables }) => variables.map(({ name }) => name))
  if (variables.length === 0) throw badTemplate(template, 'at least one variable')
  const twice = variables.find((name, index) => variables.indexOf(name) !== index)
  if (twice !== undefined) throw badTemplate(template, `each variable once, and ${twice} is there twice`)
  return Object.freeze({
    template,
    variables: Object.freeze(variables),
    expand: (values: TemplateValues) => expand(parts, values),
    match: compileMatch(parts),
  })
}

function isExpression(part: Part): part is Expression {
  return typeof part !== 'string'
}

function expand(parts: readonly Part[], values: TemplateValues): string {
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
  if (prefix !== undefined) throw badValue(name, 'text, since only that has first characters')
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
  throw badValue(name, `text, a number or a boolean, got ${kindOf(value)}`)
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

/** Encodes all but letters, digits, `-`, `.`, `_` and `~`; a lone surrogate becomes U+FFFD, as in URLs. */
function encodeStrictly(text: string): string {
  const whole = encodeURIComponent(text.replace(loneHalf, '\ufffd'))
  return whole.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

function badValue(name: string, expected: string): ProtocolError {
  return new ProtocolError('BAD_TEMPLATE', `uri template: ${name}: expected ${expected}`)
}

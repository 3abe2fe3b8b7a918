import { ProtocolError } from './errors.js'

/** A URI template (RFC 6570, level 1 and `{+name}`), read once: it finds the variables of a uri. */
export interface UriTemplate {
  readonly template: string
  /** In the order of the template. */
  readonly variables: readonly string[]
  /**
   * The variables of a uri, percent-decoded, or undefined when it does not fit. `{name}` takes one or more characters that are not
   * reserved, `{+name}` any; where that leaves a choice, the variable that comes first takes most. The time grows with the length of the
   * uri, and no faster.
   */
  match(uri: string): Readonly<Record<string, string>> | undefined
}

/** The variables of a template written as a literal; those of a plain string are not known. */
export type TemplateVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : { readonly [Name in VariableNames<Template>]: string }

type VariableNames<Template extends string> = Template extends `${string}{${infer Expression}}${infer Rest}`
  ? NameIn<Expression> | VariableNames<Rest>
  : never

type NameIn<Expression extends string> = Expression extends `+${infer Name}` ? Name : Expression

interface Variable {
  readonly name: string
  readonly reserved: boolean
}

/** From which positions the rest of the template fits the rest of the uri. */
type Fits = Uint8Array

const maxLength = 2_000
const expression = /\{([^{}]*)\}/g
const reservedCharacters = new Set([...":/?#[]@!$&'()*+,;="].map((character) => character.charCodeAt(0)))

/** Reads a URI template. Throws BAD_TEMPLATE for what is no such template, or could be read in several ways. */
export function parseUriTemplate(template: string): UriTemplate {
  const parts = split(template)
  const variables = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name]))
  if (variables.length === 0) throw bad(template, 'at least one variable')
  const twice = variables.find((name, index) => variables.indexOf(name) !== index)
  if (twice !== undefined) throw bad(template, `each variable once, and ${twice} is there twice`)
  return Object.freeze({
    template,
    variables: Object.freeze(variables),
    match: (uri: string) => match(parts, uri),
  })
}

function split(template: string): readonly (string | Variable)[] {
  if (template.length > maxLength) throw bad(template.slice(0, 40), `at most ${maxLength} characters`)
  const parts: (string | Variable)[] = []
  let end = 0
  for (const { 0: whole, 1: inner = '', index } of template.matchAll(expression)) {
    const literal = template.slice(end, index)
    if (literal === '' && typeof parts.at(-1) === 'object')
      throw bad(template, 'something between two variables')
    if (literal !== '') parts.push(literal)
    parts.push(readVariable(template, inner))
    end = index + whole.length
  }
  const last = template.slice(end)
  if (last !== '') parts.push(last)
  if (parts.some((part) => typeof part === 'string' && /[{}]/.test(part)))
    throw bad(template, 'balanced braces')
  return parts
}

function readVariable(template: string, inner: string): Variable {
  const reserved = inner.startsWith('+')
  const name = reserved ? inner.slice(1) : inner
  if (/^[A-Za-z_]\w*$/.test(name) && name !== '__proto__') return { name, reserved }
  throw bad(template, `{name} or {+name}, got {${inner.slice(0, 40)}}`)
}

/** Where the rest fits is found from the end, so that no choice on the way forward is ever taken back. */
function match(
  parts: readonly (string | Variable)[],
  uri: string,
): Readonly<Record<string, string>> | undefined {
  const [first] = parts
  if (typeof first === 'string' && !uri.startsWith(first)) return undefined
  const fits = fitsOf(parts, uri)
  if (fits[0]?.[0] !== 1) return undefined
  const found: Record<string, string> = {}
  let at = 0
  for (const [index, part] of parts.entries()) {
    const end = typeof part === 'string' ? at + part.length : longest(uri, at, part, fits[index + 1])
    const value = typeof part === 'string' ? '' : decodePercent(uri.slice(at, end))
    if (value === undefined) return undefined
    if (typeof part !== 'string') found[part.name] = value
    at = end
  }
  return Object.freeze(found)
}

function fitsOf(parts: readonly (string | Variable)[], uri: string): Fits[] {
  const end = new Uint8Array(uri.length + 1)
  end[uri.length] = 1
  const all: Fits[] = [end]
  for (const part of parts.toReversed()) {
    const rest = all[0] ?? end
    all.unshift(typeof part === 'string' ? literalFits(part, uri, rest) : variableFits(part, uri, rest))
  }
  return all
}

function literalFits(literal: string, uri: string, rest: Fits): Fits {
  const fits = new Uint8Array(uri.length + 1)
  for (let at = 0; at + literal.length <= uri.length; at++)
    if (rest[at + literal.length] === 1 && uri.startsWith(literal, at)) fits[at] = 1
  return fits
}

function variableFits(variable: Variable, uri: string, rest: Fits): Fits {
  const fits = new Uint8Array(uri.length + 1)
  for (let at = uri.length - 1; at >= 0; at--)
    if (takes(variable, uri.charCodeAt(at)) && (rest[at + 1] === 1 || fits[at + 1] === 1)) fits[at] = 1
  return fits
}

function longest(uri: string, start: number, variable: Variable, rest: Fits | undefined): number {
  let end = start
  for (let at = start; at < uri.length && takes(variable, uri.charCodeAt(at)); at++)
    if (rest?.[at + 1] === 1) end = at + 1
  return end
}

function takes({ reserved }: Variable, code: number): boolean {
  return code > 0x20 && code !== 0x7f && (reserved || !reservedCharacters.has(code))
}

function decodePercent(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined // a percent sign that encodes nothing
  }
}

function bad(template: string, expected: string): ProtocolError {
  return new ProtocolError('BAD_TEMPLATE', `uri template ${JSON.stringify(template)}: expected ${expected}`)
}

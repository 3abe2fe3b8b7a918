import { ProtocolError } from '../wire/errors.js'

/** The value of a variable. */
export type TemplateValue = string | readonly string[] | Readonly<Record<string, string>>

/** A literal, or an expression in braces. */
export type Part = string | Expression

/** What stands in one pair of braces. */
export interface Expression {
  readonly operator: Operator
  readonly variables: readonly VariableSpec[]
}

/** One variable of an expression. */
export interface VariableSpec {
  readonly name: string
  /** `*`: each item of a list, or each field of an object, by itself. */
  readonly explode: boolean
  /** `:3`: the first characters only. */
  readonly prefix: number | undefined
}

/** The first character of an expression; none for plain variables. */
type Operator = keyof typeof operators

/** How each operator writes its variables (RFC 6570, appendix A). */
export interface OperatorRow {
  readonly first: string
  readonly separator: string
  /** Whether values are written with their names. */
  readonly named: boolean
  /** What follows the name of an empty value. */
  readonly ifEmpty: string
  /** Whether reserved characters stay as they are. */
  readonly reserved: boolean
}

/** The operators of RFC 6570. */
export const operators = Object.freeze({
  '': { first: '', separator: ',', named: false, ifEmpty: '', reserved: false },
  '+': { first: '', separator: ',', named: false, ifEmpty: '', reserved: true },
  '#': { first: '#', separator: ',', named: false, ifEmpty: '', reserved: true },
  '.': { first: '.', separator: '.', named: false, ifEmpty: '', reserved: false },
  '/': { first: '/', separator: '/', named: false, ifEmpty: '', reserved: false },
  ';': { first: ';', separator: ';', named: true, ifEmpty: '', reserved: false },
  '?': { first: '?', separator: '&', named: true, ifEmpty: '=', reserved: false },
  '&': { first: '&', separator: '&', named: true, ifEmpty: '=', reserved: false },
} as const satisfies Record<string, OperatorRow>)

const maxLength = 2_000
const maxPrefix = 9_999
const expression = /\{([^{}]*)\}/g
const variableName = /^(?:\w|%[\da-fA-F]{2})(?:\.?(?:\w|%[\da-fA-F]{2}))*$/

/** The literals and expressions of a template, in order. Throws ProtocolError BAD_TEMPLATE. */
export function readParts(template: string): readonly Part[] {
  if (template.length > maxLength) throw badTemplate(template, `at most ${maxLength} characters`)
  const parts: Part[] = []
  let end = 0
  for (const { 0: whole, 1: inner = '', index } of template.matchAll(expression)) {
    if (index > end) parts.push(template.slice(end, index))
    parts.push(readExpression(template, inner))
    end = index + whole.length
  }
  if (end < template.length) parts.push(template.slice(end))
  const isBroken = parts.some((part) => typeof part === 'string' && /[{}]/.test(part))
  if (isBroken) throw badTemplate(template, 'balanced braces')
  return Object.freeze(parts)
}

function readExpression(template: string, inner: string): Expression {
  const first = inner.charAt(0)
  const operator = Object.hasOwn(operators, first) ? (first as Operator) : ''
  const names = inner.slice(operator.length).split(',')
  return Object.freeze({ operator, variables: names.map((name) => readVariable(template, name)) })
}

function readVariable(template: string, text: string): VariableSpec {
  const explode = text.endsWith('*')
  const [name = '', length] = (explode ? text.slice(0, -1) : text).split(':', 2)
  const prefix = length === undefined ? undefined : Number(length)
  const isPrefix =
    prefix === undefined || (!explode && /^[1-9]\d{0,3}$/.test(length ?? '') && prefix <= maxPrefix)
  if (variableName.test(name) && name !== '__proto__' && isPrefix)
    return Object.freeze({ name, explode, prefix })
  throw badTemplate(
    template,
    `{name}, {name*} or {name:3} after one of + # . / ; ? & or none, got {${text.slice(0, 40)}}`,
  )
}

export function badTemplate(template: string, expected: string): ProtocolError {
  const shown = JSON.stringify(template.slice(0, 200))
  return new ProtocolError('BAD_TEMPLATE', `uri template ${shown}: expected ${expected}`)
}

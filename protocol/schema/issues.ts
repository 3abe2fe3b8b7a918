import { isObject, kindOf } from '../wire/json.js'
import { unescapePointer } from './limits.js'

/** One thing that is wrong with a value, in words a model can act on. */
export interface Issue {
  /** Such as `address.street` or `items[2].name`; empty for the value as a whole. */
  readonly path: string
  readonly message: string
}

/** Says what is wrong with a value; no issues, all well. */
export type ValueCheck = (value: unknown) => readonly Issue[]

/** An error as the JSON Schema validator reports it. */
export interface RawError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
  /** The field whose name, not value, the error is about. */
  readonly propertyName?: string
}

const maxIssues = 20
const maxConsidered = 1_000
const maxListed = 20

/** Keywords that only sum up what other errors say in full. */
const summaries = new Set(['if', '$ref', 'allOf', 'propertyNames'])

const sentences: { readonly [keyword: string]: (params: RawError['params'], value: unknown) => string } = {
  required: () => 'is required',
  dependentRequired: ({ property }) => `is required when ${property} is given`,
  additionalProperties: () => 'is not a known field',
  unevaluatedProperties: () => 'is not a known field',
  type: ({ type }, value) => `expected ${typeNames(type)}, got ${kindOf(value)}`,
  enum: ({ allowedValues }) => `expected ${listed(allowedValues)}`,
  const: ({ allowedValue }) => `expected ${shown(allowedValue)}`,
  minimum: (params, value) => compared(params, value),
  maximum: (params, value) => compared(params, value),
  exclusiveMinimum: (params, value) => compared(params, value),
  exclusiveMaximum: (params, value) => compared(params, value),
  multipleOf: ({ multipleOf }, value) => `expected a multiple of ${multipleOf}, got ${value}`,
  minLength: ({ limit }, value) => `expected at least ${limit} characters, got ${lengthOf(value)}`,
  maxLength: ({ limit }, value) => `expected at most ${limit} characters, got ${lengthOf(value)}`,
  minItems: ({ limit }, value) => `expected at least ${limit} items, got ${lengthOf(value)}`,
  maxItems: ({ limit }, value) => `expected at most ${limit} items, got ${lengthOf(value)}`,
  minProperties: ({ limit }) => `expected at least ${limit} fields`,
  maxProperties: ({ limit }) => `expected at most ${limit} fields`,
  pattern: ({ pattern }) => `expected text that matches ${pattern}`,
  uniqueItems: () => 'expected items that are all different',
  anyOf: () => 'fits none of the allowed forms',
  oneOf: ({ passingSchemas }) =>
    `fits ${passingSchemas === null ? 'none' : 'more than one'} of the allowed forms`,
  not: () => 'is just what is not allowed',
}

const kinds: { readonly [type: string]: string } = {
  array: 'an array',
  boolean: 'a boolean',
  integer: 'an integer',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** The keywords whose error is about a field inside the value that they name. */
const named: { readonly [keyword: string]: string } = {
  required: 'missingProperty',
  dependentRequired: 'missingProperty',
  additionalProperties: 'additionalProperty',
  unevaluatedProperties: 'unevaluatedProperty',
}

/** The errors of one check as issues: no summaries where there are details, no duplicates, 20 at most. */
export function toIssues(errors: readonly RawError[], root: unknown): readonly Issue[] {
  const issues = new Map<string, Issue>()
  const considered = errors.slice(0, maxConsidered) // a failed union may leave a hundred thousand behind
  const telling = considered.filter(({ keyword }) => !summaries.has(keyword))
  for (const error of telling.length > 0 ? telling : considered) {
    const issue = toIssue(error, root)
    issues.set(`${issue.path}\n${issue.message}`, issue)
    if (issues.size === maxIssues) break
  }
  return [...issues.values()]
}

/** A path in the form of `Issue.path`. */
export function formatPath(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => path + formatKey(key, path === ''), '')
}

/** The keys of a path in the form of `Issue.path`. */
export function keysOf(path: string): PropertyKey[] {
  const parts = path.matchAll(/\.?([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gu)
  return [...parts].map(([, name, index, quoted]) => {
    if (index !== undefined) return Number(index)
    return quoted === undefined ? (name ?? '') : String(JSON.parse(quoted))
  })
}

/** The issues of a value, their paths below the key that holds it. */
export function issuesUnder(key: PropertyKey, issues: readonly Issue[]): readonly Issue[] {
  const own = formatPath([key])
  return issues.map(({ path, message }) => {
    const isIndexed = path === '' || path.startsWith('[')
    return { path: isIndexed ? own + path : `${own}.${path}`, message }
  })
}

function toIssue({ keyword, instancePath, params, message, propertyName }: RawError, root: unknown): Issue {
  const { keys, value } = follow(root, instancePath)
  const field = propertyName ?? params[named[keyword] ?? '']
  const path = formatPath(typeof field === 'string' ? [...keys, field] : keys)
  const problem = sentences[keyword]?.(params, propertyName ?? value) ?? message ?? `breaks ${keyword}`
  return { path, message: propertyName === undefined ? problem : `the name of this field: ${problem}` }
}

function follow(root: unknown, pointer: string): { keys: PropertyKey[]; value: unknown } {
  const keys: PropertyKey[] = []
  let value = root
  for (const part of pointer.split('/').slice(1)) {
    const key = unescapePointer(part)
    keys.push(Array.isArray(value) ? Number(key) : key)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  }
  return { keys, value }
}

function formatKey(key: PropertyKey, first: boolean): string {
  if (typeof key === 'number') return `[${key}]`
  const name = String(key)
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name)) return `[${shown(name)}]`
  return first ? name : `.${name}`
}

function compared({ comparison, limit }: RawError['params'], value: unknown): string {
  return `expected a number ${comparison} ${limit}, got ${value}`
}

function typeNames(type: unknown): string {
  return [type]
    .flat()
    .map((name) => kinds[String(name)] ?? name)
    .join(' or ')
}

function listed(values: unknown): string {
  const all = Array.isArray(values) ? values : []
  const more = all.length > maxListed ? `, or ${all.length - maxListed} more` : ''
  return `one of ${all.slice(0, maxListed).map(shown).join(', ')}${more}`
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return [...value].length
  return Array.isArray(value) ? value.length : 0
}

function shown(value: unknown): string {
  if (isObject(value) || Array.isArray(value)) return kindOf(value)
  const text = JSON.stringify(value) ?? kindOf(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

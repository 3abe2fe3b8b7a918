import {
  CalendarDate,
  ClockTime,
  NaiveDateTime,
  parseDate,
  parseNaive,
  parseTime,
  parseZoned,
  ZonedDateTime,
} from './calendar.js'
import { type JsonObject, kindOf } from '../../wire/json.js'
import type { Parsed } from '../schema.js'
import type { FieldKind } from './field.js'
import type { Issue } from '../issues.js'
import { compilePattern } from '../pattern/pattern.js'

/** Limits of a text. */
export interface TextLimits {
  /** Characters. */
  readonly min?: number
  /** Characters. */
  readonly max?: number
  /** A regular expression (ECMA-262) that has to match somewhere; matched in linear time. */
  readonly pattern?: string | RegExp
  /** A hint such as `email`, `uri` or `postal-code`. */
  readonly format?: string
  /** Whether the format is checked: `email`, `uri`, `uuid`. Default false. */
  readonly enforce?: boolean
}

/** Limits of a number. */
export interface NumberLimits {
  readonly min?: number
  readonly max?: number
  /** Both at once, for instance `[0, 150]`. */
  readonly range?: readonly [number, number]
}

/** Any JSON value. */
export const anyKind: FieldKind<unknown> = kindWith({}, (value) =>
  value === undefined ? wrong('is required') : { value },
)

/** True or false. */
export const booleanKind: FieldKind<boolean> = {
  ...kindWith<boolean>({ type: 'boolean' }, (value) =>
    typeof value === 'boolean' ? { value } : mismatch('a boolean', value),
  ),
  fromText: (text) => (text === 'true' ? true : text === 'false' ? false : text),
}

export function textKind(limits: TextLimits): FieldKind<string> {
  const { min = 0, max = Number.POSITIVE_INFINITY, format, enforce = false } = limits
  const problems = [
    ...wrongLimits(
      min,
      max,
      (limit) => Number.isInteger(limit) && limit >= 0,
      'a whole number of characters',
    ),
    ...(enforce && !isFormat(format) ? [issue('enforce: expected a format among email, uri, uuid')] : []),
    ...(format === undefined || typeof format === 'string' ? [] : [issue('format: expected a string')]),
  ]
  const { matches, source, problem } = readPattern(limits.pattern)
  if (problem !== undefined) problems.push(issue(problem))
  const jsonSchema = {
    type: 'string',
    ...(limits.min !== undefined && { minLength: min }),
    ...(limits.max !== undefined && { maxLength: max }),
    ...(source !== undefined && { pattern: source }),
    ...(format !== undefined && { format }),
  }
  function parse(value: unknown): Parsed<string> {
    if (typeof value !== 'string') return mismatch('a string', value)
    // A character takes one or two units of a text: only between these is the number of units enough to tell.
    if (value.length < 2 * min || value.length > max) {
      const length = [...value].length
      if (length < min) return wrong(`expected at least ${min} characters, got ${length}`)
      if (length > max) return wrong(`expected at most ${max} characters, got ${length}`)
    }
    if (matches !== undefined && !matches(value)) return wrong(`expected text that matches ${source}`)
    if (enforce && isFormat(format) && !checkFormat[format](value)) return wrong(`expected ${format} format`)
    return { value }
  }
  return { ...kindWith(jsonSchema, parse, problems), fromText: (text) => text }
}

/** A number within limits, with or without decimals. */
export function numberKind(type: 'integer' | 'number', limits: NumberLimits): FieldKind<number> {
  const { range } = limits
  const isRange = range === undefined || (Array.isArray(range) && range.length === 2)
  const [least, most] = isRange ? (range ?? []) : []
  const min = limits.min ?? least ?? Number.NEGATIVE_INFINITY
  const max = limits.max ?? most ?? Number.POSITIVE_INFINITY
  const isLimit = (limit: number) => !Number.isNaN(limit) && (type === 'number' || Number.isInteger(limit))
  const problems = [
    ...(isRange ? [] : [issue('range: expected two numbers')]),
    ...wrongLimits(min, max, isLimit, type === 'integer' ? 'an integer' : 'a number'),
  ]
  const jsonSchema = {
    type,
    ...(Number.isFinite(min) && { minimum: min }),
    ...(Number.isFinite(max) && { maximum: max }),
  }
  const expected = type === 'integer' ? 'an integer' : 'a number'
  function parse(value: unknown): Parsed<number> {
    if (typeof value !== 'number' || !Number.isFinite(value)) return mismatch(expected, value)
    if (type === 'integer' && !Number.isInteger(value)) return wrong(`expected an integer, got ${value}`)
    if (value < min) return wrong(`expected a number >= ${min}, got ${value}`)
    if (value > max) return wrong(`expected a number <= ${max}, got ${value}`)
    return { value }
  }
  const fromText = (text: string) => (/^\s*[+-]?(?:\d|\.\d)/.test(text) ? numberOr(text) : text)
  return { ...kindWith(jsonSchema, parse, problems), fromText }
}

/** One of a few values. */
export function choiceKind<Choice extends string | number | boolean>(
  choices: readonly Choice[],
  type?: string,
): FieldKind<Choice> {
  const all: readonly unknown[] = Array.isArray(choices) ? choices : []
  const types = [...new Set(all.map(typeOfChoice))]
  const problems = [
    ...(all.length === 0 ? [issue('expected a list of choices')] : []),
    ...(types.includes(undefined) ? [issue('choices: expected strings, numbers or booleans')] : []),
    ...(type !== undefined && all.some((choice) => !fitsType(choice, type))
      ? [issue(`type: expected the JSON type of every choice, got ${String(type)}`)]
      : []),
  ]
  const shown = type ?? (types.length === 1 ? types[0] : types)
  const parse = (value: unknown): Parsed<Choice> =>
    all.includes(value)
      ? { value: value as Choice }
      : wrong(`expected one of ${all.map((choice) => JSON.stringify(choice)).join(', ')}`)
  const jsonSchema = { type: shown, enum: [...all] } as JsonObject
  return {
    ...kindWith(jsonSchema, parse, problems),
    fromText: (text) => all.find((choice) => String(choice) === text) ?? text,
  }
}

const calendar = Object.freeze({
  date: {
    read: parseDate,
    of: CalendarDate,
    about: 'date',
    example: '2024-01-15',
    jsonSchema: { format: 'date' },
  },
  time: {
    read: parseTime,
    of: ClockTime,
    about: 'time',
    example: '14:30:00',
    // JSON Schema's `time` demands a zone
    jsonSchema: { pattern: String.raw`^\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$` },
  },
  datetime: {
    read: parseZoned,
    of: ZonedDateTime,
    about: 'datetime',
    example: '2024-01-15T14:30:00Z',
    jsonSchema: { format: 'date-time' },
  },
  naive: {
    read: parseNaive,
    of: NaiveDateTime,
    about: 'datetime without a zone',
    example: '2024-01-15T14:30:00',
    jsonSchema: { pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$` },
  },
} as const)

/** A date or time: a text in ISO 8601, or an object of ours. */
export function calendarKind<Kind extends keyof typeof calendar>(
  kind: Kind,
): FieldKind<NonNullable<ReturnType<(typeof calendar)[Kind]['read']>>> {
  type Value = NonNullable<ReturnType<(typeof calendar)[Kind]['read']>>
  const { read, of, about, example, jsonSchema } = calendar[kind]
  function parse(value: unknown): Parsed<Value> {
    if (value instanceof of) return { value: value as Value }
    if (typeof value !== 'string') return mismatch(`a string such as ${example}`, value)
    const moment = read(value)
    if (moment !== undefined) return { value: moment as Value }
    return wrong(`invalid ISO 8601 ${about} format: expected text such as ${example}`)
  }
  return { ...kindWith({ type: 'string', ...jsonSchema }, parse), fromText: (text) => text }
}

/** A kind that reads texts as JSON. */
export function kindWith<Output>(
  jsonSchema: JsonObject,
  parse: FieldKind<Output>['parse'],
  problems: readonly Issue[] = [],
): FieldKind<Output> {
  return { jsonSchema, parse, problems, fromText: fromJson }
}

/** A value that is missing or of the wrong kind. */
export function mismatch(expected: string, value: unknown): { readonly issues: readonly Issue[] } {
  return wrong(value === undefined ? 'is required' : `expected ${expected}, got ${kindOf(value)}`)
}

/** A value with one thing wrong. */
export function wrong(message: string): { readonly issues: readonly Issue[] } {
  return { issues: [issue(message)] }
}

/** An issue of the value, or the definition, as a whole. */
function issue(message: string): Issue {
  return { path: '', message }
}

export function wrongLimits(
  min: unknown,
  max: unknown,
  isLimit: (limit: number) => boolean,
  expected: string,
): Issue[] {
  const open = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const bad = (value: unknown) => !(typeof value === 'number' && (open.includes(value) || isLimit(value)))
  if (bad(min)) return [issue(`min: expected ${expected}`)]
  if (bad(max)) return [issue(`max: expected ${expected}`)]
  return Number(min) > Number(max) ? [issue(`max: expected no less than min (${min}), got ${max}`)] : []
}

function readPattern(pattern: unknown): {
  matches?: (text: string) => boolean
  source?: string
  problem?: string
} {
  if (pattern === undefined) return {}
  const source = pattern instanceof RegExp ? pattern.source : pattern
  if (typeof source !== 'string' || (pattern instanceof RegExp && /[imsvy]/.test(pattern.flags)))
    return { problem: 'pattern: expected a regular expression without flags' }
  const matcher = compilePattern(source, () => {})
  if (typeof matcher === 'string') return { problem: `pattern: ${matcher}` }
  return { source, matches: (text) => matcher.test(text) }
}

function typeOfChoice(choice: unknown): string | undefined {
  if (typeof choice === 'number') return Number.isInteger(choice) ? 'integer' : 'number'
  return typeof choice === 'string' || typeof choice === 'boolean' ? typeof choice : undefined
}

function fitsType(choice: unknown, type: unknown): boolean {
  const own = typeOfChoice(choice)
  return own === type || (own === 'integer' && type === 'number')
}

function numberOr(text: string): number | string {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // told to be of the wrong kind
  }
}

type CheckedFormat = 'email' | 'uri' | 'uuid'

export const checkFormat: { readonly [Format in CheckedFormat]: (text: string) => boolean } = {
  email: isEmail,
  uri: (text) => URL.canParse(text),
  uuid: (text) => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
}

function isFormat(format: unknown): format is CheckedFormat {
  return typeof format === 'string' && Object.hasOwn(checkFormat, format)
}

/** A valid email address (WHATWG HTML), in two looks at each character. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || text.length > 320) return false
  const labels = text.slice(at + 1).split('.')
  const isLabel = (label: string) => /^[\da-z](?:[\da-z-]*[\da-z])?$/i.test(label) && label.length <= 63
  return /^[\w.!#$%&'*+/=?^`{|}~-]+$/.test(text.slice(0, at)) && labels.every(isLabel)
}

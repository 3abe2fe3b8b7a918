import type { OutputUnit, SchemaDraft } from '@cfworker/json-schema'
import { ProtocolError } from '../wire/errors.js'
import { isObject, type JsonObject } from '../wire/json.js'
import { type RawError, toIssues, type ValueCheck } from './issues.js'
import { type SchemaDialect, type Subschema, subschemasOf, unescapePointer } from './limits.js'
import { compilePattern, type LinearPattern } from './pattern/pattern.js'

/** The validator that compiles nothing. */
export type Interpreter = typeof import('@cfworker/json-schema')

const drafts: Readonly<Record<SchemaDialect, SchemaDraft>> = {
  '2020-12': '2020-12',
  '2019-09': '2019-09',
  'draft-07': '7',
}

/** Work of one pattern, in steps of about 20 ns. */
const patternSteps = 6_000_000
/** Looks at subschemas in one check: references to references may double with each level. */
const mostLooks = 300_000
/** Comparisons of all items of a list with each other; those of objects count more. */
const mostComparisons = 6_000_000
const objectCosts = 50
const noText = [{ path: '', message: 'has a name of a field that is no text' }]
const tooLong = [{ path: '', message: 'takes too long to check: it is too large or too deep' }]

/**
 * A check for hosts that compile no code at run time, such as Workers: several times slower than a compiled
 * one. Looks at subschemas, and comparisons of items, are counted. Throws BAD_SCHEMA, also for
 * `patternProperties`, whose patterns would not be matched in linear time, unless that `isLenient`: then they
 * allow any value.
 */
export function interpretedCheck(
  { Validator, format }: Interpreter,
  schema: JsonObject,
  dialect: SchemaDialect,
  isLenient = false,
): ValueCheck {
  // parts that stand in two places become two
  const copy: JsonObject = JSON.parse(JSON.stringify(schema))
  if (isLenient) openPatterns(copy)
  const parts = subschemasOf(copy)
  const patterns = takePatterns(parts)
  const work = { left: mostLooks }
  const hasUnique = parts.some(({ schema: part }) => part.uniqueItems === true)
  countLooks(parts, work)
  const make = (isQuick: boolean) => new Validator(copy, drafts[dialect], isQuick)
  const quick = make(true)
  let thorough: ReturnType<typeof make> | undefined
  return (value) => {
    // nothing else runs meanwhile
    for (const [name, pattern] of patterns) format[name] = (text: string) => pattern.test(text)
    try {
      const plain = bare(value, hasUnique)
      work.left = mostLooks
      if (quick.validate(plain).valid) return []
      work.left = mostLooks
      thorough ??= make(false)
      const { errors } = thorough.validate(plain)
      const raw = errors.slice(0, maxConsidered).map((unit) => errorOf(unit, copy))
      return toIssues(withoutFollowing(raw), value)
    } catch (error) {
      if (error === tooMuch || error instanceof RangeError) return tooLong
      if (error instanceof URIError) return noText
      throw error
    } finally {
      for (const name of patterns.keys()) delete format[name]
    }
  }
}

/** A field that does not fit counts as unknown as well. */
function withoutFollowing(errors: readonly RawError[]): readonly RawError[] {
  const wrong = errors.filter(({ keyword }) => keyword !== unknownField && keyword !== summary)
  return errors.filter(
    ({ keyword, instancePath }) =>
      keyword !== unknownField || !wrong.some((one) => `${one.instancePath}/`.startsWith(`${instancePath}/`)),
  )
}

const unknownField = 'additionalProperties'
/** Any of those that only sum up what others say. */
const summary = 'allOf'
/** Errors of one check that are read. */
const maxConsidered = 1_000
const tooMuch = new Error('the pattern takes too much work')

function openPatterns(schema: JsonObject): void {
  for (const { schema: part } of subschemasOf(schema)) {
    if (part.patternProperties === undefined) continue
    // else it would stand for all their fields
    for (const keyword of ['patternProperties', 'additionalProperties']) Reflect.deleteProperty(part, keyword)
  }
}

/** Makes a format of each pattern, which is matched by ours; formats of the schema are not checked. */
function takePatterns(parts: readonly Subschema[]): Map<string, LinearPattern> {
  const patterns = new Map<string, LinearPattern>()
  for (const { schema: part } of parts) {
    Reflect.deleteProperty(part, 'format')
    for (const keyword of ['patternProperties', '$dynamicRef'])
      if (part[keyword] !== undefined) throw refusal(`${keyword} is not checked on this host`)
    if (part.nullable === true && part.type !== undefined)
      Reflect.set(part, 'type', [...new Set([part.type, 'null'].flat())])
    // else the validator does not look at the most
    if (part.contains !== undefined && part.maxContains !== undefined && part.minContains === undefined)
      Reflect.set(part, 'minContains', 1)
    if (typeof part.pattern !== 'string') continue
    const name = `pattern ${part.pattern}`
    patterns.set(name, patterns.get(name) ?? linear(part.pattern))
    Reflect.deleteProperty(part, 'pattern')
    Reflect.set(part, 'format', name)
  }
  return patterns
}

function linear(source: string): LinearPattern {
  let left = 0
  const pattern = compilePattern(source, (units) => {
    left -= units
    if (left < 0) throw tooMuch
  })
  if (typeof pattern === 'string') throw refusal(`the pattern ${pattern}`)
  return {
    test(text) {
      left = patternSteps
      return pattern.test(text)
    },
  }
}

function refusal(problem: string): ProtocolError {
  return new ProtocolError('BAD_SCHEMA', `JSON Schema: ${problem}`)
}

/** The validator reads `type` once for each look at a subschema: that counts it. */
function countLooks(parts: readonly Subschema[], work: { left: number }): void {
  for (const { schema: part } of parts) {
    const { type } = part
    Object.defineProperty(part, 'type', {
      enumerable: type !== undefined,
      configurable: true,
      get() {
        work.left -= 1
        if (work.left < 0) throw tooMuch
        return type
      },
    })
  }
}

/**
 * Without prototypes: the validator takes `constructor` for a field of every object. Where it compares all
 * items of a list with each other, a list that is too long for that throws.
 */
function bare(value: unknown, hasUnique: boolean): unknown {
  if (Array.isArray(value)) {
    const each = value.some((one) => typeof one === 'object' && one !== null) ? objectCosts : 1
    if (hasUnique && value.length ** 2 * each > mostComparisons) throw tooMuch
    return value.map((one) => bare(one, hasUnique))
  }
  if (!isObject(value)) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [key, inner] of Object.entries(value)) copy[key] = bare(inner, hasUnique)
  return copy
}

/** Names of parameters, as the sentences about errors have them. */
const named: Readonly<Record<string, string>> = {
  type: 'type',
  enum: 'allowedValues',
  const: 'allowedValue',
  multipleOf: 'multipleOf',
  minLength: 'limit',
  maxLength: 'limit',
  minItems: 'limit',
  maxItems: 'limit',
  minProperties: 'limit',
  maxProperties: 'limit',
  minimum: 'limit',
  maximum: 'limit',
  exclusiveMinimum: 'limit',
  exclusiveMaximum: 'limit',
}

const comparisons: Readonly<Record<string, string>> = {
  minimum: '>=',
  maximum: '<=',
  exclusiveMinimum: '>',
  exclusiveMaximum: '<',
}

/** Summaries of what other errors say: those of keywords that hold schemas. */
const summaries = new Set([
  ...[
    'properties',
    'additionalProperties',
    'unevaluatedProperties',
    'items',
    'prefixItems',
    'additionalItems',
  ],
  ...['unevaluatedItems', '$ref', 'allOf', 'if', 'dependentSchemas', 'propertyNames'],
])

/** An error in the form of the compiled check. */
function errorOf(
  { keyword, keywordLocation, instanceLocation, error }: OutputUnit,
  schema: JsonObject,
): RawError {
  const instancePath = decodeURI(instanceLocation.slice(1))
  if (summaries.has(keyword)) return { keyword: summary, instancePath, params: {}, message: error }
  if (keyword === 'false') return { keyword: unknownField, instancePath, params: {} }
  if (keyword === 'format') {
    const pattern = String(valueAt(schema, keywordLocation)).slice('pattern '.length)
    return { keyword: 'pattern', instancePath, params: { pattern } }
  }
  if (keyword === 'required') {
    const [, missingProperty] = /required property "(.*)"/s.exec(error) ?? []
    return { keyword, instancePath, params: { missingProperty } }
  }
  const name = named[keyword]
  const given = name === undefined ? undefined : valueAt(schema, keywordLocation)
  // behind some references the location is of no use
  if (name === undefined || given === undefined)
    return { keyword: '', instancePath, params: {}, message: error }
  return { keyword, instancePath, params: { [name]: given, comparison: comparisons[keyword] } }
}

/** What stands at a location, which leads through references. */
function valueAt(schema: JsonObject, location: string): unknown {
  let value: unknown = schema
  for (const key of keysOf(location)) {
    value = inside(value, key)
    // by an $id or an anchor it is not found
    if (key !== '$ref' || typeof value !== 'string') continue
    value = /^#(?:\/|$)/.test(value) ? keysOf(value).reduce(inside, schema as unknown) : undefined
  }
  return value
}

function inside(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return Reflect.get(value, key)
}

function keysOf(pointer: string): readonly string[] {
  return pointer.split('/').slice(1).map(unescapePointer)
}

import { isObject, type JsonObject } from '../../wire/json.js'
import type { Parsed, Schema, SchemaInput, SchemaSide } from '../schema.js'
import { toDefinedSchema } from '../defined.js'
import { Field, isField, type FieldKind } from './field.js'
import { kindWith, mismatch, wrong, wrongLimits } from './kinds.js'
import { type Issue, issuesUnder } from '../issues.js'
import { escapePointer, isBase, type Subschema, subschemasOf } from '../limits.js'

/** How many items a list may have. */
export interface ListLimits {
  readonly min?: number
  readonly max?: number
}

/** A field, or the schema of any library. */
export type FieldInput = Field | SchemaInput

/** Fields by their names. */
export interface FieldRecord {
  readonly [name: string]: FieldInput
}

const maxIssues = 20

/** An object with these fields; other keys are dropped. */
export function groupKind(fields: FieldRecord): FieldKind<object> {
  if (!isObject(fields))
    return kindWith({}, () => ({ value: {} }), [{ path: '', message: 'expected fields' }])
  const all = Object.entries(fields).map(([name, input]) => ({ name, field: toField(input) }))
  const properties = Object.fromEntries(
    all.map(({ name, field }) => [name, nested(field.jsonSchema, pointerTo(name))]),
  )
  const required = all.filter(({ field }) => field.presence === 'required').map(({ name }) => name)
  const problems = all.flatMap(({ name, field }) => issuesUnder(name, field.problems))
  const jsonSchema = { type: 'object', properties, ...(required.length > 0 && { required }) }
  function parse(value: unknown): Parsed<object> | Promise<Parsed<object>> {
    if (!isObject(value)) return mismatch('an object', value)
    const reading = new Reading()
    for (const { name, field } of all) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined
      if (given === undefined && field.presence === 'optional') continue
      reading.take(name, field.parse(given))
    }
    return reading.outcome((found) => Object.fromEntries(found.filter(([, read]) => read !== undefined)))
  }
  return kindWith(jsonSchema, parse, problems)
}

export function listKind(item: Field, limits: ListLimits): FieldKind<unknown[]> {
  const { min = 0, max = Number.POSITIVE_INFINITY } = limits
  const isCount = (count: number) => Number.isInteger(count) && count >= 0
  const problems = [...wrongLimits(min, max, isCount, 'a whole number of items'), ...item.problems]
  const jsonSchema = {
    type: 'array',
    items: nested(item.jsonSchema, '/items'),
    ...(limits.min !== undefined && { minItems: min }),
    ...(limits.max !== undefined && { maxItems: max }),
  }
  function parse(value: unknown): Parsed<unknown[]> | Promise<Parsed<unknown[]>> {
    if (!Array.isArray(value)) return mismatch('an array', value)
    if (value.length < min) return wrong(`expected at least ${min} items, got ${value.length}`)
    if (value.length > max) return wrong(`expected at most ${max} items, got ${value.length}`)
    const reading = new Reading()
    for (let index = 0; index < value.length && !reading.isFull; index++)
      reading.take(index, item.parse(value[index]))
    return reading.outcome((found) => found.map(([, read]) => read))
  }
  return kindWith(jsonSchema, parse, problems)
}

/** An object with any keys and values of one kind. */
export function mapKind(of: Field): FieldKind<Record<string, unknown>> {
  const jsonSchema: JsonObject = {
    type: 'object',
    additionalProperties: nested(of.jsonSchema, '/additionalProperties'),
  }
  function parse(value: unknown): Parsed<Record<string, unknown>> | Promise<Parsed<Record<string, unknown>>> {
    if (!isObject(value)) return mismatch('an object', value)
    const reading = new Reading()
    for (const key of Object.keys(value)) {
      if (reading.isFull) break
      reading.take(key, of.parse(value[key]))
    }
    return reading.outcome((found) => Object.fromEntries(found) as Record<string, unknown>)
  }
  return kindWith(jsonSchema, parse, of.problems)
}

/** A field from a schema of any kind. Throws ProtocolError BAD_SCHEMA. */
export function toField(input: FieldInput, side: SchemaSide = 'input'): Field {
  if (isField(input)) return input
  const { jsonSchema, parse } = toDefinedSchema(input, side)
  const kind = kindWith(jsonSchema, parse)
  const whole = takesText(jsonSchema) ? { ...kind, fromText: (text: string) => text } : kind
  if ('default' in jsonSchema) return new Field(whole, { default: jsonSchema.default }, 'default')
  return new Field(whole, {}, '~standard' in input && takesNothing(parse) ? 'default' : 'required')
}

/** Whether a text is the value itself, not its JSON. */
function takesText({ type, enum: choices, const: only }: JsonObject): boolean {
  if (type !== undefined) return [type].flat().includes('string')
  const values = Array.isArray(choices) ? choices : [only]
  return values.every((value) => typeof value === 'string')
}

/** Whether a library's schema accepts `undefined`: its field may be left out. */
function takesNothing(parse: Schema['parse']): boolean {
  const parsed = parse(undefined)
  return !(parsed instanceof Promise) && 'value' in parsed
}

/** Collects values and issues by key; some have to be waited for. */
class Reading {
  readonly #found: [PropertyKey, unknown][] = []
  readonly #waiting: Promise<void>[] = []
  readonly #issues: Issue[] = []

  get isFull(): boolean {
    return this.#issues.length >= maxIssues
  }

  take(key: PropertyKey, parsed: Parsed<unknown> | Promise<Parsed<unknown>>): void {
    if (!(parsed instanceof Promise)) return this.#note(key, parsed)
    const place: [PropertyKey, unknown] = [key, undefined]
    this.#found.push(place)
    this.#waiting.push(parsed.then((done) => this.#note(key, done, place)))
  }

  outcome<Value>(
    build: (found: readonly (readonly [PropertyKey, unknown])[]) => Value,
  ): Parsed<Value> | Promise<Parsed<Value>> {
    const finish = (): Parsed<Value> =>
      this.#issues.length > 0 ? { issues: this.#issues.slice(0, maxIssues) } : { value: build(this.#found) }
    return this.#waiting.length === 0 ? finish() : Promise.all(this.#waiting).then(finish)
  }

  #note(key: PropertyKey, parsed: Parsed<unknown>, place?: [PropertyKey, unknown]): void {
    if ('issues' in parsed) this.#issues.push(...issuesUnder(key, parsed.issues))
    else if (place !== undefined) place[1] = parsed.value
    else this.#found.push([key, parsed.value])
  }
}

const usualDialect = 'https://json-schema.org/draft/2020-12/schema'

/**
 * A schema as part of another, at a JSON Pointer such as `/properties/a`: its references within itself are
 * moved, and `$schema` is dropped where it is the default.
 */
export function nested(schema: JsonObject, pointer: string): JsonObject {
  const { $schema, ...rest } = schema
  const inner = $schema === usualDialect ? rest : schema
  if (!subschemasOf(inner).some(isMoved)) return inner
  const moved: JsonObject = structuredClone(inner)
  for (const part of subschemasOf(moved).filter(isMoved))
    Reflect.set(part.schema, '$ref', `#${pointer}${String(part.schema.$ref).slice(1)}`)
  return moved
}

/** The pointer to a field by its name. */
export function pointerTo(name: string): string {
  return `/properties/${encodeURIComponent(escapePointer(name))}`
}

/** Anchors hold in the whole document, references below an `$id` start from there: neither is moved. */
function isMoved({ schema: { $ref }, base }: Subschema): boolean {
  return typeof $ref === 'string' && ($ref === '#' || $ref.startsWith('#/')) && !isBase(base)
}

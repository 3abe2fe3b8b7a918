import { compilePattern } from '../../protocol/schema/pattern/pattern.js'
import { schemaLimits } from '../../protocol/schema/limits.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { cut } from '../../runtime/base/cut.js'
import { type ApiDocument, listOf } from './document.js'

/** Whose schema it is: what is sent has no `readOnly` fields, what is returned no `writeOnly` ones. */
export type Side = 'input' | 'output'

/** Characters of the schema of one side: what goes beyond it is left open. */
const roomOf: Readonly<Record<Side, number>> = { input: 32_768, output: 8_192 }
const maxSchemas = 1_200
/** Schemas inside each other; each takes up to four levels of JSON. */
const maxDepth = 12
/** Characters of a description inside a schema, and of an example. */
const maxNote = 600
const maxExample = 200
/** Levels of values, as of `default`. */
const maxValueDepth = 6

/**
 * Makes JSON Schema 2020-12 of the schemas of one tool. What it refers to comes into `$defs`, the nearest
 * first, as far as there is room; what is left open takes any value, and the API decides.
 */
export class SchemaWriter {
  readonly #document: ApiDocument
  readonly #side: Side
  /** Names in `$defs`, by what leads there. */
  readonly #names = new Map<string, string>()
  readonly #queue: { readonly name: string; readonly reference: string }[] = []
  readonly #definitions = new Map<string, unknown>()
  #left: number
  #count = 0

  constructor(document: ApiDocument, side: Side) {
    this.#document = document
    this.#side = side
    this.#left = roomOf[side]
  }

  /** The schema at a place of the document. Throws Unusable for a reference that leads nowhere. */
  write(schema: unknown): JsonObject {
    const written = this.#write(schema, 0)
    return isObject(written) ? written : {}
  }

  /** What the schemas written so far refer to; undefined for nothing. */
  definitions(): JsonObject | undefined {
    for (const { name, reference } of this.#queue)
      this.#definitions.set(name, this.#write(this.#document.at(reference), 1))
    return this.#definitions.size === 0 ? undefined : fromEntries(this.#definitions)
  }

  /** Whether a property belongs to the other side. */
  isHidden(schema: unknown): boolean {
    const { readOnly, writeOnly } = this.#document.object(schema)
    return (this.#side === 'input' ? readOnly : writeOnly) === true
  }

  #write(schema: unknown, depth: number): JsonObject | boolean {
    if (typeof schema === 'boolean') return this.#document.version === '3.1' ? schema : {}
    if (!isObject(schema)) return {}
    this.#count += 1
    if (depth > maxDepth || this.#left < 0 || this.#count > maxSchemas) return {}
    if (typeof schema.$ref === 'string') return this.#writeReference(schema, schema.$ref, depth)
    const written = new Map<string, unknown>()
    for (const [keyword, value] of Object.entries(schema)) {
      const kept = this.#keyword(keyword, value, schema, depth)
      if (kept === undefined) continue
      written.set(keyword === 'oneOf' ? 'anyOf' : keyword, kept)
      this.#left -= keyword.length + 4
    }
    // two lists that both hold
    if (schema.oneOf !== undefined && schema.anyOf !== undefined) {
      const both = ['oneOf', 'anyOf'].map((keyword) => ({
        anyOf: this.#keyword(keyword, schema[keyword], schema, depth),
      }))
      written.delete('anyOf')
      written.set('allOf', [...listOf(written.get('allOf')), ...both.filter(({ anyOf }) => anyOf)])
    }
    this.#addBounds(written, schema)
    this.#addExample(written, schema)
    if (isBytes(schema)) this.#makeBytes(written)
    if (written.has('properties')) this.#dropHidden(written, schema)
    return isNullable(schema, this.#document.version) ? withNull(written) : fromEntries(written)
  }

  #writeReference(schema: JsonObject, reference: string, depth: number): JsonObject {
    this.#left -= reference.length + 20
    // throws where it leads nowhere, or in a circle
    this.#document.resolve(schema)
    const found = { $ref: `#/$defs/${this.#nameOf(reference)}` }
    const { $ref: _, ...others } = schema
    if (this.#document.version !== '3.1' || Object.keys(others).length === 0) return found
    const beside = this.#write(others, depth + 1)
    return isObject(beside) ? { ...found, ...beside } : found
  }

  #nameOf(reference: string): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const last = (reference.split('/').at(-1) ?? '').replaceAll(/[^\w.-]/g, '_').slice(0, 60) || 'schema'
    const taken = new Set(this.#names.values())
    // what could be taken for something else than a key
    let name = last === '__proto__' ? '_proto' : last
    for (let number = 2; taken.has(name); number++) name = `${last}_${number}`
    this.#names.set(reference, name)
    this.#queue.push({ name, reference })
    return name
  }

  /** The value of a keyword as it is written; undefined: it is left out. */
  #keyword(keyword: string, value: unknown, schema: JsonObject, depth: number): unknown {
    const inner = (one: unknown): JsonObject | boolean => this.#write(one, depth + 1)
    switch (keyword) {
      case 'title':
      case 'description':
        return this.#note(value)
      case 'type':
        return typeOf(value)
      case 'format':
      case 'contentMediaType':
      case 'contentEncoding':
        return typeof value === 'string' ? this.#kept(cut(value, 60)) : undefined
      case 'pattern':
        return this.#pattern(value)
      case 'enum':
        return Array.isArray(value) && value.length > 0 && isShallow(value)
          ? this.#keptList(value)
          : undefined
      case 'const':
      case 'default':
        return isShallow(value) ? this.#kept(value) : undefined
      case 'required':
        return this.#required(value, schema)
      case 'items':
        return Array.isArray(value) ? undefined : inner(value)
      case 'additionalProperties':
        // an API that grows may return more than it says
        if (typeof value === 'boolean') return value || this.#side === 'input' ? value : undefined
        return inner(value)
      case 'properties':
        return isObject(value) ? this.#map(value, depth) : undefined
      case 'patternProperties':
        return isObject(value) && Object.keys(value).every(isPattern) ? this.#map(value, depth) : undefined
      case 'allOf':
      case 'anyOf':
      case 'oneOf':
      case 'prefixItems':
        return Array.isArray(value) && value.length > 0 ? value.map(inner) : undefined
      case 'not':
      case 'contains':
      case 'propertyNames':
      case 'unevaluatedProperties':
        // cut anywhere inside, they would refuse what is right
        return undefined
      case 'minimum':
      case 'maximum':
      case 'exclusiveMinimum':
      case 'exclusiveMaximum':
        return typeof value === 'number' && Number.isFinite(value) ? value : undefined
      case 'multipleOf':
        return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined
      case 'minLength':
      case 'maxLength':
      case 'minItems':
      case 'maxItems':
      case 'minProperties':
      case 'maxProperties':
        return Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined
      case 'uniqueItems':
      case 'deprecated':
        return value === true ? true : undefined
      default:
        return undefined
    }
  }

  #pattern(value: unknown): string | undefined {
    if (typeof value !== 'string') return undefined
    const pattern = [value, withoutNeedlessEscapes(value)].find(isPattern)
    return pattern === undefined ? undefined : this.#kept(pattern)
  }

  #map(properties: JsonObject, depth: number): JsonObject {
    return fromEntries(
      Object.entries(properties).map(([name, one]) => {
        this.#left -= name.length + 6
        return [name, this.#write(one, depth + 1)] as const
      }),
    )
  }

  #required(value: unknown, { properties }: JsonObject): readonly unknown[] | undefined {
    // clients refuse what lacks a field; many APIs leave some out
    if (this.#side === 'output') return undefined
    const known = isObject(properties) ? properties : {}
    const names = listOf(value).filter(
      (name) => typeof name === 'string' && !(Object.hasOwn(known, name) && this.isHidden(known[name])),
    )
    return names.length === 0 ? undefined : this.#keptList([...new Set(names)])
  }

  #dropHidden(written: Map<string, unknown>, { properties }: JsonObject): void {
    const given = isObject(properties) ? properties : {}
    const shownOnes = Object.entries(written.get('properties') as JsonObject).filter(
      ([name]) => !this.isHidden(given[name]),
    )
    written.set('properties', fromEntries(shownOnes))
  }

  /** Until 3.0 `exclusiveMinimum` says how `minimum` is meant. */
  #addBounds(written: Map<string, unknown>, schema: JsonObject): void {
    for (const [bound, exclusive] of [
      ['minimum', 'exclusiveMinimum'],
      ['maximum', 'exclusiveMaximum'],
    ] as const) {
      if (schema[exclusive] !== true || !written.has(bound)) continue
      written.set(exclusive, written.get(bound))
      written.delete(bound)
    }
  }

  #addExample(written: Map<string, unknown>, { example, examples }: JsonObject): void {
    const given = Array.isArray(examples) ? examples[0] : example
    if (this.#side === 'output' || given === undefined || !isShallow(given)) return
    const length = JSON.stringify(given).length
    if (length > maxExample) return
    this.#left -= length
    written.set('examples', [given])
  }

  #makeBytes(written: Map<string, unknown>): void {
    for (const keyword of ['format', 'minLength', 'maxLength', 'pattern']) written.delete(keyword)
    written.set('type', 'string')
    written.set('contentEncoding', 'base64')
    this.#left -= 50
  }

  #note(value: unknown): string | undefined {
    if (typeof value !== 'string' || value === '') return undefined
    return this.#kept(cut(value, this.#left < roomOf[this.#side] / 2 ? maxNote / 4 : maxNote))
  }

  #kept<Value>(value: Value): Value {
    this.#left -= typeof value === 'string' ? value.length : JSON.stringify(value).length
    return value
  }

  /** A long list costs as much as it has; one without room is left out. */
  #keptList(values: readonly unknown[]): readonly unknown[] | undefined {
    const { length } = JSON.stringify(values)
    if (length > this.#left) return undefined
    this.#left -= length
    return values
  }
}

/** Own properties under any name, `__proto__` among them. */
export function fromEntries(entries: Iterable<readonly [string, unknown]>): JsonObject {
  return Object.fromEntries(entries)
}

const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']

function typeOf(value: unknown): unknown {
  const known = listOf(Array.isArray(value) ? [...new Set(value)] : [value]).filter((one) =>
    types.includes(one as string),
  )
  return known.length > 1 ? known : known[0]
}

/** Whether a schema stands for bytes: JSON has them as base64. */
export function isBytes({ type, format, contentMediaType, contentEncoding }: JsonObject): boolean {
  if (type === 'file') return true
  const isData = contentMediaType === 'application/octet-stream' && contentEncoding === undefined
  return (format === 'binary' || isData) && (type === 'string' || type === undefined)
}

function isNullable(schema: JsonObject, version: ApiDocument['version']): boolean {
  return version !== '3.1' && (schema.nullable === true || schema['x-nullable'] === true)
}

function withNull(written: Map<string, unknown>): JsonObject {
  const type = written.get('type')
  const values = written.get('enum')
  if (typeof type !== 'string') return { anyOf: [fromEntries(written), { type: 'null' }] }
  written.set('type', [type, 'null'])
  if (Array.isArray(values) && !values.includes(null)) written.set('enum', [...values, null])
  return fromEntries(written)
}

/** Whether validators of others take it, which read all patterns with the flag `u` (JSON Schema, 6.4). */
function isPattern(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > schemaLimits.maxPatternLength) return false
  try {
    new RegExp(value, 'u')
  } catch {
    return false
  }
  return typeof compilePattern(value, () => undefined) !== 'string'
}

/** Authors escape what needs no escape, and `u` has that for a mistake: `[\w\:]`. */
function withoutNeedlessEscapes(pattern: string): string {
  return pattern.replaceAll(/\\([^\w\s])/g, (whole, one: string) =>
    /[\^$\\.*+?()[\]{}|/-]/.test(one) ? whole : one,
  )
}

function isShallow(value: unknown, levels = maxValueDepth): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}

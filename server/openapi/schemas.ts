import { compilePattern } from '../../protocol/schema/pattern/pattern.js'
import { isDeeperThan, schemaLimits } from '../../protocol/schema/limits.js'
import { lightSchema } from '../../protocol/schema/light.js'
import type { Schema } from '../../protocol/schema/schema.js'
import { deepFreeze, isObject, type JsonObject } from '../../protocol/wire/json.js'
import { cut } from '../../runtime/base/cut.js'
import { type ApiDocument, listOf, Memo, Unusable } from './document.js'
import { apart } from './names.js'

/** Whose schema it is: what is sent has no `readOnly` fields, what is returned no `writeOnly` ones. */
export type Side = 'input' | 'output'

/** Characters of the schema of one side: what goes beyond it is left open. */
const roomOf: Readonly<Record<Side, number>> = { input: 32_768, output: 8_192 }
/** A schema that is cut has half as many characters, or a quarter, and so on. */
const leastRoom = 512
const maxSchemas = 1_200
/** With fewer arguments a schema is within the limits, whatever is said of each. */
const manyFields = 100
/** Schemas inside each other; each takes up to four levels of JSON. */
const maxDepth = 12
/** Levels of JSON of what one schema is written to. */
const maxLevels = 58
/** Characters of a description inside a schema, and of an example. */
const maxNote = 600
const maxExample = 200
/** Levels of values, as of `default`. */
const maxValueDepth = 6

/** A schema of the document as tools have it. */
interface WrittenSchema {
  readonly schema: JsonObject
  /** Its characters, and the schemas that it has. */
  readonly size: number
  readonly count: number
  /** What it refers to, by names in `$defs`. */
  readonly references: ReadonlyMap<string, string>
  /** Those of them that are of the value itself: in a circle they would never end. */
  readonly inPlace: readonly string[]
}

/**
 * The schemas of a document for one side of its tools, each as JSON Schema 2020-12: written, measured and looked
 * through once in each size that a tool has room for, and shared by all tools.
 */
export class SchemaLibrary {
  readonly #document: ApiDocument
  readonly side: Side
  /** What resolves when a schema may be made ready for its first value. */
  readonly turn: () => Promise<void>
  /** Names in `$defs`, by what leads there, and the other way round. */
  readonly #names = new Map<string, string>()
  readonly #references = new Map<string, string>()
  /** By room. */
  readonly #written = new Map<number, Memo<unknown, WrittenSchema>>()

  constructor(document: ApiDocument, side: Side, turn: () => Promise<void>) {
    this.#document = document
    this.turn = turn
    this.side = side
  }

  /**
   * The schema at a place of the document, as much of it as fits; undefined: nothing does. Throws Unusable for a
   * reference that leads nowhere.
   */
  fitting(
    schema: unknown,
    room: { readonly left: number; readonly count: number },
  ): WrittenSchema | undefined {
    const most = roomOf[this.side]
    const fits = ({ size, count }: WrittenSchema): boolean => size <= room.left && count <= room.count
    if (room.left >= most / 2) {
      const wide = this.#at(schema, most, maxNote)
      if (fits(wide)) return wide
    }
    // beyond the half of the room notes are short; what is small may be whole with little room left
    for (let size = most / 2; size >= leastRoom; size /= 2) {
      if (size > room.left && size < most / 2) continue
      const written = this.#at(schema, size, maxNote / 4)
      if (fits(written)) return written
    }
    return undefined
  }

  /** What a definition is written from. Throws Unusable. */
  definition(reference: string): unknown {
    return this.#document.at(reference)
  }

  /** The same reference has the same name in all tools, whatever else there is. */
  nameOf(reference: string): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const last = (reference.split('/').at(-1) ?? '').replaceAll(/[^\w.-]/g, '_').slice(0, 60) || 'schema'
    const isPlain = /^#\/(?:components\/schemas|definitions)\/[\w.-]{1,60}$/.test(reference)
    // what could be taken for something else than a key
    let name = isPlain && last !== '__proto__' ? last : apart(last, reference)
    for (let turn = '.'; this.#references.has(name); turn += '.') name = apart(last, `${reference}${turn}`)
    this.#names.set(reference, name)
    this.#references.set(name, reference)
    return name
  }

  #at(schema: unknown, room: number, note: number): WrittenSchema {
    const memo = this.#written.get(room) ?? new Memo<unknown, WrittenSchema>()
    this.#written.set(room, memo)
    return memo.get(schema, () => new SchemaWriter(this.#document, this, room, note).write(schema))
  }
}

/**
 * The schemas of one tool. What it refers to comes into `$defs`, the nearest first, as far as there is room; what
 * is left open takes any value, and the API decides.
 */
export class ToolSchemas {
  readonly #library: SchemaLibrary
  readonly #room: { left: number; count: number }
  /** What leads to each definition, by its name. */
  readonly #references = new Map<string, string>()

  constructor(library: SchemaLibrary) {
    this.#library = library
    this.#room = { left: roomOf[library.side], count: maxSchemas }
  }

  /** The schema at a place of the document. Throws Unusable for a reference that leads nowhere. */
  take(schema: unknown): JsonObject {
    return this.#take(schema)?.schema ?? anything
  }

  /** What the schemas taken so far refer to; undefined for nothing. Throws Unusable for what never ends. */
  definitions(): JsonObject | undefined {
    if (this.#references.size === 0) return undefined
    const definitions = new Map<string, JsonObject>()
    const ways = new Map<string, readonly string[]>()
    // those that are found meanwhile come behind
    for (const [name, reference] of this.#references) {
      const written =
        this.#room.left < leastRoom / 8 ? undefined : this.#take(this.#library.definition(reference))
      definitions.set(name, written?.schema ?? anything)
      if (written !== undefined && written.inPlace.length > 0) ways.set(name, written.inPlace)
    }
    if (hasCircle(ways))
      throw new Unusable('a schema refers to itself without going into the value, which never ends')
    return Object.freeze(fromEntries(definitions))
  }

  /** The schema of the tool with all of those in it; undefined where there are too many. */
  whole(schema: JsonObject, fields: number): Schema | undefined {
    const { maxSubschemas, maxLength } = schemaLimits
    if (fields + this.#references.size + maxSchemas - this.#room.count >= maxSubschemas) return undefined
    // what stands beside a schema is not measured with it
    if (fields > manyFields && JSON.stringify(schema).length > maxLength) return undefined
    const { properties } = schema
    if (isObject(properties)) for (const one of Object.values(properties)) Object.freeze(one)
    for (const one of [properties, schema.required]) Object.freeze(one)
    return lightSchema(Object.freeze(schema), this.#library.turn)
  }

  #take(schema: unknown): WrittenSchema | undefined {
    const written = this.#library.fitting(schema, this.#room)
    if (written === undefined) return undefined
    this.#room.left -= written.size
    this.#room.count -= written.count
    for (const [name, reference] of written.references) this.#references.set(name, reference)
    return written
  }
}

const anything: JsonObject = Object.freeze({})

/** Takes out what leads to nothing, again and again; what is left leads in circles. */
function hasCircle(ways: ReadonlyMap<string, readonly string[]>): boolean {
  const left = new Map(ways)
  for (let size = -1; size !== left.size; ) {
    size = left.size
    for (const [name, targets] of left) if (!targets.some((one) => left.has(one))) left.delete(name)
  }
  return left.size > 0
}

/** Writes one schema of the document, with what stands in it. */
class SchemaWriter {
  readonly #document: ApiDocument
  readonly #library: SchemaLibrary
  readonly #side: Side
  readonly #note: number
  readonly #room: number
  readonly #references = new Map<string, string>()
  #left: number
  #count = 0

  constructor(document: ApiDocument, library: SchemaLibrary, room: number, note: number) {
    this.#document = document
    this.#library = library
    this.#side = library.side
    this.#note = note
    this.#room = room
    this.#left = room
  }

  write(given: unknown): WrittenSchema {
    const found = this.#write(given, 1)
    const isUsable = isObject(found) && !isDeeperThan(found, maxLevels)
    const schema = isUsable ? deepFreeze(found) : anything
    return {
      schema,
      size: Math.max(0, this.#room - this.#left),
      count: this.#count,
      references: isUsable ? this.#references : new Map(),
      inPlace: inPlaceOf(schema),
    }
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
      const all = [...listOf(written.get('allOf')), ...both.filter(({ anyOf }) => anyOf)]
      if (all.length > 0) written.set('allOf', all)
    }
    this.#addBounds(written, schema)
    this.#addExample(written, schema)
    if (isBytes(schema)) this.#makeBytes(written)
    // what is left out of those would be taken for a field that is none
    if (['properties', 'patternProperties'].some((one) => sizeOf(written.get(one)) < sizeOf(schema[one])))
      written.delete('additionalProperties')
    if (written.has('properties')) this.#dropHidden(written, schema)
    return isNullable(schema, this.#document.version) ? withNull(written) : fromEntries(written)
  }

  #writeReference(schema: JsonObject, reference: string, depth: number): JsonObject {
    this.#left -= reference.length + 20
    // throws where it leads nowhere, or in a circle
    this.#document.resolve(schema)
    const name = this.#library.nameOf(reference)
    this.#references.set(name, reference)
    const found = { $ref: `#/$defs/${name}` }
    const { $ref: _, ...others } = schema
    if (this.#document.version !== '3.1' || Object.keys(others).length === 0) return found
    const beside = this.#write(others, depth + 1)
    return isObject(beside) ? { ...found, ...beside } : found
  }

  /** The value of a keyword as it is written; undefined: it is left out. */
  #keyword(keyword: string, value: unknown, schema: JsonObject, depth: number): unknown {
    const inner = (one: unknown): JsonObject | boolean => this.#write(one, depth + 1)
    switch (keyword) {
      case 'title':
      case 'description':
        return this.#text(value)
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
          ? this.#keptValue(value)
          : undefined
      case 'const':
      case 'default':
        return isShallow(value) ? this.#keptValue(value) : undefined
      case 'required':
        return this.#required(value, schema)
      case 'items':
        return Array.isArray(value) || !isList(schema.prefixItems ?? [0]) ? undefined : inner(value)
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
        return isList(value) ? value.map(inner) : undefined
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

  /** Those without room are left out: the object is open then. */
  #map(properties: JsonObject, depth: number): JsonObject {
    const map = new Map<string, unknown>()
    for (const [name, one] of Object.entries(properties)) {
      if (this.#left < 0) break
      this.#left -= name.length + 6
      map.set(name, this.#write(one, depth + 1))
    }
    return fromEntries(map)
  }

  #required(value: unknown, { properties }: JsonObject): readonly unknown[] | undefined {
    // clients refuse what lacks a field; many APIs leave some out
    if (this.#side === 'output') return undefined
    const known = isObject(properties) ? properties : {}
    const names = listOf(value).filter(
      (name) => typeof name === 'string' && !(Object.hasOwn(known, name) && this.isHidden(known[name])),
    )
    return names.length === 0 ? undefined : this.#keptValue([...new Set(names)])
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

  #text(value: unknown): string | undefined {
    if (typeof value !== 'string' || value === '') return undefined
    return this.#kept(cut(value, this.#note))
  }

  #kept(value: string): string {
    this.#left -= value.length
    return value
  }

  /** What has no room is left out: any value is taken. */
  #keptValue<Value>(value: Value): Value | undefined {
    const { length } = JSON.stringify(value)
    if (length > this.#left) return undefined
    this.#left -= length
    return value
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

function sizeOf(map: unknown): number {
  return isObject(map) ? Object.keys(map).length : 0
}

/** A list of schemas that may be written. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= maxSchemas
}

/** What a schema refers to for the very same value. */
function inPlaceOf({ $ref, allOf, anyOf }: JsonObject): readonly string[] {
  const inner = [...listOf(allOf), ...listOf(anyOf)].flatMap((one) => (isObject(one) ? inPlaceOf(one) : []))
  return typeof $ref === 'string' ? [$ref.slice('#/$defs/'.length), ...inner] : inner
}

function isShallow(value: unknown, levels = maxValueDepth): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1))
}

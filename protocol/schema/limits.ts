import { ProtocolError } from '../wire/errors.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import { compilePattern } from './pattern/pattern.js'

/**
 * Limits of a JSON Schema, so that compiling and using a stranger's stays cheap (2026-07-28 asks for bounds).
 */
export const schemaLimits = Object.freeze({
  maxLength: 262_144,
  maxDepth: 64,
  /** More would take ajv and V8 seconds to compile. */
  maxSubschemas: 2_000,
  maxPatternLength: 512,
})

/**
 * The dialects of JSON Schema that are supported; without `$schema` it is 2020-12 (basic, JSON Schema usage).
 */
export type SchemaDialect = '2020-12' | '2019-09' | 'draft-07'

/** A part of a schema that is itself one, and the JSON Pointer to it. */
export interface Subschema {
  readonly schema: JsonObject
  readonly pointer: string
  /** What its references start from: the nearest schema around it with an `$id`, or the whole. */
  readonly base: JsonObject
  /** The `$id` of `base`, resolved. */
  readonly uri: string
}

const dialects: { readonly [uri: string]: SchemaDialect } = {
  'json-schema.org/draft/2020-12/schema': '2020-12',
  'json-schema.org/draft/2019-09/schema': '2019-09',
  'json-schema.org/draft-07/schema': 'draft-07',
}

/** Which keywords hold schemas: one (or an array of them), or a map of names to them. */
const holders = new Map<string, 'schema' | 'map'>([
  ...[
    'additionalItems additionalProperties allOf anyOf contains contentSchema else if items not oneOf',
    'prefixItems propertyNames then unevaluatedItems unevaluatedProperties',
  ]
    .flatMap((words) => words.split(' '))
    .map((keyword) => [keyword, 'schema'] as const),
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'].map(
    (keyword) => [keyword, 'map'] as const,
  ),
])

/** The keywords that apply a schema to the very same value, so that a circle of them never ends. */
const inPlace = new Set('allOf anyOf dependencies dependentSchemas else if not oneOf then'.split(' '))
const references = ['$ref', '$dynamicRef', '$recursiveRef']

/** A copy of `input` that is safe to compile. Throws BAD_SCHEMA that says where, and what was expected. */
export function admitSchema(input: unknown): JsonObject {
  const schema = copySchema(input)
  dialectOfSchema(schema)
  const parts = subschemasOf(schema)
  if (parts.length > schemaLimits.maxSubschemas) {
    throw refusal('', `expected at most ${schemaLimits.maxSubschemas} subschemas, got ${parts.length}`)
  }
  for (const part of parts) checkPatterns(part)
  checkIds(parts)
  checkReferences(parts)
  return schema
}

/** A copy of `input` that is safe to show: JSON, within length and depth. Throws BAD_SCHEMA. */
export function copySchema(input: unknown): JsonObject {
  if (!isObject(input)) throw refusal('', `expected an object, got ${kindOf(input)}`)
  const { maxLength, maxDepth } = schemaLimits
  const text = toText(input)
  if (text.length > maxLength)
    throw refusal('', `expected at most ${maxLength} characters, got ${text.length}`)
  const schema: JsonObject = JSON.parse(text)
  if (isDeeperThan(schema, maxDepth)) throw refusal('', `expected at most ${maxDepth} levels`)
  return schema
}

/** The dialect a schema is written in. Throws BAD_SCHEMA for one that cannot be checked. */
export function dialectOfSchema({ $schema }: JsonObject): SchemaDialect {
  if ($schema === undefined) return '2020-12'
  const dialect = typeof $schema === 'string' ? dialects[$schema.replace(/^https?:\/\/|#$/g, '')] : undefined
  if (dialect !== undefined) return dialect
  throw refusal('/$schema', 'expected the URI of draft 2020-12, 2019-09 or 07')
}

/** The schema and all its parts that are schemas, each object once; boolean schemas are left out. */
export function subschemasOf(root: JsonObject): readonly Subschema[] {
  const parts: Subschema[] = [{ schema: root, pointer: '', base: root, uri: uriOf(root, unnamed) }]
  for (const { schema, pointer, base, uri } of parts) {
    for (const keyword of Object.keys(schema)) {
      // most keywords hold none
      if (!holders.has(keyword)) continue
      for (const part of partsIn(keyword, schema[keyword], `${pointer}/${keyword}`))
        parts.push(
          isBase(part.schema)
            ? { schema: part.schema, pointer: part.pointer, base: part.schema, uri: uriOf(part.schema, uri) }
            : { schema: part.schema, pointer: part.pointer, base, uri },
        )
    }
  }
  return parts
}

/** Whether references within start from this schema; until draft-07 an `$id` may be an anchor instead. */
export function isBase({ $id }: JsonObject): boolean {
  return typeof $id === 'string' && !$id.startsWith('#')
}

/** The name of a schema that has no `$id`. */
export const unnamed = 'https://caduceus.invalid/schema'

function uriOf(schema: JsonObject, around: string): string {
  if (!isBase(schema)) return around
  return resolveUri(String(schema.$id), around)
}

function resolveUri(reference: string, base: string): string {
  return URL.canParse(reference, base) ? new URL(reference, base).href.replace(/#$/, '') : reference
}

function partsIn(keyword: string, held: unknown, pointer: string): Omit<Subschema, 'base' | 'uri'>[] {
  const holder = holders.get(keyword)
  if (holder === undefined || typeof held !== 'object' || held === null) return []
  if (holder === 'schema' && isObject(held)) return [{ schema: held, pointer }]
  if (holder === 'map' && Array.isArray(held)) return []
  const parts: Omit<Subschema, 'base' | 'uri'>[] = []
  for (const [key, schema] of Object.entries(held))
    if (isObject(schema)) parts.push({ schema, pointer: `${pointer}/${escapePointer(key)}` })
  return parts
}

function toText(input: JsonObject): string {
  try {
    return JSON.stringify(input)
  } catch (cause) {
    throw refusal('', `expected JSON: ${(cause as Error).message.split('\n')[0]}`, cause)
  }
}

/** Whether a value has objects and lists within each other beyond so many levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1))
}

function checkPatterns({ schema, pointer }: Subschema): void {
  const { pattern, patternProperties } = schema
  if (typeof pattern === 'string') checkPattern(pattern, `${pointer}/pattern`)
  if (!isObject(patternProperties)) return
  for (const key of Object.keys(patternProperties)) checkPattern(key, `${pointer}/patternProperties`)
}

function checkPattern(pattern: string, pointer: string): void {
  const { maxPatternLength } = schemaLimits
  if (pattern.length > maxPatternLength)
    throw refusal(pointer, `expected at most ${maxPatternLength} characters`)
  const compiled = compilePattern(pattern, () => undefined)
  if (typeof compiled === 'string') throw refusal(pointer, `the pattern ${compiled}`)
}

/** Every `$id` stands for one schema; the whole schema has a name in any case. */
function checkIds(parts: readonly Subschema[]): void {
  const uris = new Set<string>()
  for (const { schema, pointer, uri } of parts) {
    if (pointer !== '' && !isBase(schema)) continue
    if (uris.has(uri)) {
      const id = JSON.stringify(String(schema.$id).slice(0, 80))
      throw refusal(`${pointer}/$id`, `the $id ${id} stands for another schema as well`)
    }
    uris.add(uri)
  }
}

function checkReferences(parts: readonly Subschema[]): void {
  const anchors = anchorsOf(parts)
  const bases = new Map(parts.map(({ uri, base }) => [uri, base]))
  const ways = new Map<unknown, readonly JsonObject[]>()
  for (const { schema, pointer, base: own, uri } of parts) {
    const targets = references.flatMap((keyword) => {
      const reference = schema[keyword]
      if (typeof reference !== 'string') return []
      const place = reference.replace(/#.*$/s, '')
      const fragment = reference.slice(place.length + 1)
      // ajv follows the other keywords only where they start with #
      const named = keyword === '$ref' && place !== '' ? bases.get(resolveUri(place, uri)) : undefined
      const base = reference.startsWith('#') ? own : named
      if (base === undefined)
        throw refusal(
          `${pointer}/${keyword}`,
          'expected a reference within the schema, which starts with # or is the URI of an $id',
        )
      const isPointer = fragment === '' || fragment.startsWith('/')
      const target = isPointer ? resolve(base, fragment) : anchors.get(base)?.get(fragment)
      if (target !== undefined) return isObject(target) ? [target] : []
      const within =
        base === parts[0]?.schema ? '' : ` within the $id ${JSON.stringify(String(base.$id).slice(0, 80))}`
      throw refusal(`${pointer}/${keyword}`, `there is no ${JSON.stringify(reference.slice(0, 80))}${within}`)
    })
    const inner = Object.entries(schema).filter(([keyword]) => inPlace.has(keyword))
    const applied = inner.flatMap(([keyword, held]) => partsIn(keyword, held, '').map((part) => part.schema))
    ways.set(schema, [...targets, ...applied])
  }
  if (hasCircle(ways)) throw refusal('', 'it refers to itself without going into the value, which never ends')
}

/** Anchors by the base of the schemas that have them. */
function anchorsOf(parts: readonly Subschema[]): ReadonlyMap<JsonObject, ReadonlyMap<string, JsonObject>> {
  const anchors = new Map<JsonObject, Map<string, JsonObject>>()
  for (const { schema, pointer, base } of parts) {
    const { $anchor, $dynamicAnchor, $id } = schema
    const draft07 = typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : undefined
    for (const anchor of [$anchor, $dynamicAnchor, draft07]) {
      if (typeof anchor !== 'string') continue
      const known = anchors.get(base) ?? new Map<string, JsonObject>()
      if (known.has(anchor))
        throw refusal(pointer, `the anchor ${JSON.stringify(anchor)} stands for another schema as well`)
      anchors.set(base, known.set(anchor, schema))
    }
  }
  return anchors
}

/** Elsewhere than in keywords that hold schemas a pointer leads to what nobody has checked. */
function resolve(base: JsonObject, fragment: string): unknown {
  let target: unknown = base
  let isMany = false // a map or a list of schemas
  for (const key of fragment.split('/').slice(1)) {
    const name = unescapePointer(/%[\da-f]{2}/i.test(key) ? decode(key) : key)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    const holder: 'schema' | 'map' | 'one' | undefined = isMany ? 'one' : holders.get(name)
    if (holder === undefined) return undefined
    target = Reflect.get(target, name)
    isMany = holder === 'map' || (holder === 'schema' && Array.isArray(target))
  }
  return !isMany && (isObject(target) || typeof target === 'boolean') ? target : undefined
}

/** Removes schemas that no reference leads to, again and again; what is left is a circle. */
function hasCircle(ways: ReadonlyMap<unknown, readonly JsonObject[]>): boolean {
  const incoming = new Map<unknown, number>()
  for (const target of [...ways.values()].flat()) incoming.set(target, (incoming.get(target) ?? 0) + 1)
  const free = [...ways.keys()].filter((schema) => !incoming.has(schema))
  for (const schema of free) {
    for (const target of ways.get(schema) ?? []) {
      const left = (incoming.get(target) ?? 0) - 1
      incoming.set(target, left)
      if (left === 0) free.push(target)
    }
  }
  return [...incoming.values()].some((left) => left > 0)
}

/** A key as a part of a JSON Pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return /[~/]/.test(key) ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
}

/** A key from a part of a JSON Pointer. */
export function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function decode(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key // then there is no such place, which is reported
  }
}

/** The error of a schema that is refused; `pointer` says where. */
export function refusal(pointer: string, problem: string, cause?: unknown): ProtocolError {
  const where = pointer.length > 200 ? `${pointer.slice(0, 200)}...` : pointer
  const message = `JSON Schema${where === '' ? '' : ` at ${where}`}: ${problem}`
  return new ProtocolError('BAD_SCHEMA', message, cause === undefined ? {} : { cause })
}

import { ProtocolError } from '../wire/errors.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import { isOwn, isStandard, type Schema, type SchemaInput, type SchemaSide, toSchema } from './schema.js'
import { dialectOfSchema, refusal, type SchemaDialect, subschemasOf } from './limits.js'

/**
 * Takes any schema that the author of this program writes, like `toSchema`, and finds now what would fail
 * with the first value: a keyword with a wrong value, fields where a schema belongs, a schema of a library
 * inside a JSON Schema. Throws BAD_SCHEMA.
 */
export function toDefinedSchema(input: SchemaInput, side: SchemaSide = 'input'): Schema {
  const problem = isStandard(input) ? undefined : foreign(input)
  if (problem !== undefined) throw new ProtocolError('BAD_SCHEMA', problem)
  const schema = toSchema(input, side)
  if (!isOwn(input) && !isStandard(input)) checkPlain(input)
  return schema
}

function checkPlain(input: JsonObject): void {
  for (const { schema, pointer } of subschemasOf(input)) {
    if (!isStandard(schema)) continue
    const vendor = String(schema['~standard'].vendor)
    const problem = `JSON Schema at ${pointer}: a schema of ${vendor} has no place in a JSON Schema: give fields by their names, each a schema of any kind`
    throw new ProtocolError('BAD_SCHEMA', problem)
  }
  if (!saysSomething(input)) {
    const keys = Object.keys(input).slice(0, 5).join(', ')
    const problem = `${expected}, got an object with keys [${keys}]: an object within is field.group({ ... })`
    throw new ProtocolError('BAD_SCHEMA', problem)
  }
  checkKeywords(input)
}

const expected = 'expected a field, a schema of a library, or a JSON Schema'

/** The maker of a field by its type, also as other languages call it. */
const fields: { readonly [type: string]: string } = {
  any: 'any',
  bool: 'boolean',
  boolean: 'boolean',
  date: 'date',
  float: 'number',
  int: 'integer',
  integer: 'integer',
  number: 'number',
  str: 'string',
  string: 'string',
  text: 'string',
}

/** Says why the input is no schema of any kind, and what to write instead; undefined: it may be one. */
function foreign(input: unknown): string | undefined {
  const library = isObject(input) && !isOwn(input) ? libraryOf(input) : undefined
  if (library !== undefined) return library
  if (isObject(input)) return undefined
  const remedy = remedyFor(input)
  const shown = typeof input === 'string' ? JSON.stringify(input.slice(0, 60)) : kindOf(input)
  return `${expected}, got ${shown}${remedy === undefined ? '' : `: write ${remedy}`}`
}

function remedyFor(input: unknown): string | undefined {
  if (Array.isArray(input)) return 'field.enum([...]) for one of a few values, field.list(item) for a list'
  const type = typeof input === 'function' ? input.name : input
  if (typeof type !== 'string') return undefined
  const name = type.toLowerCase()
  if (Object.hasOwn(fields, name)) return `field.${fields[name]}()`
  return typeof input === 'function' ? 'its result: call it' : undefined
}

/** Says so for schemas of libraries, or of versions, that do not follow Standard Schema. */
function libraryOf(input: JsonObject): string | undefined {
  if (isObject(input._def) && typeof input.safeParse === 'function')
    return 'expected ~standard.jsonSchema, got nothing from zod: zod 4.2 and newer have it (zod 3 has not)'
  if (input.kind === 'schema' && ('_run' in input || '~run' in input))
    return 'expected ~standard.jsonSchema, got nothing from valibot: version 1 has it, wrapped by toStandardJsonSchema(schema) of @valibot/to-json-schema'
  const methods = ['validate', 'parse', 'safeParse', 'decode'].filter(
    (name) => typeof input[name] === 'function',
  )
  if (isPlainObject(input) || methods.length === 0) return undefined
  return `${expected}, got an object with ${methods.join(', ')}: its library has to follow Standard Schema and show its JSON Schema`
}

interface KeywordRule {
  readonly expected: string
  readonly allows: (value: unknown, dialect: SchemaDialect) => boolean
}

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
const isText = (value: unknown) => typeof value === 'string'
const isSchema = (value: unknown) => isObject(value) || typeof value === 'boolean'
const isTexts = (value: unknown) =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length
const isList = (value: unknown) => Array.isArray(value) && value.length > 0
const isSchemaList = (value: unknown) => isList(value) && (value as unknown[]).every(isSchema)
const isMap = (value: unknown, of: (inner: unknown) => boolean) =>
  isObject(value) && Object.values(value).every((inner) => inner === undefined || of(inner))

/** The keywords of drafts 07 to 2020-12, and `nullable` of OpenAPI, which ajv reads. */
const rules = new Map<string, KeywordRule>([
  ...all(
    '$id $schema $ref $dynamicRef $recursiveRef $comment title description pattern format contentEncoding contentMediaType',
    'a string',
    isText,
  ),
  ...all('id', 'nothing here: the name of a schema is its $id', () => false),
  ...all('$anchor $dynamicAnchor', 'a word', (value) => /^[A-Za-z_][\w.-]*$/.test(String(value))),
  ...all('$vocabulary', 'an object', isObject),
  ...all(
    '$recursiveAnchor deprecated readOnly writeOnly uniqueItems nullable',
    'true or false',
    (value) => typeof value === 'boolean',
  ),
  ...all('minimum maximum exclusiveMinimum exclusiveMaximum', 'a number', Number.isFinite),
  ...all('multipleOf', 'a number above 0', (value) => typeof value === 'number' && value > 0),
  ...all(
    'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains',
    'a whole number of 0 or more',
    (value) => Number.isInteger(value) && (value as number) >= 0,
  ),
  ...all(
    'type',
    `one of ${types.join(', ')}, or an array of them`,
    (value) => isType(value) || (isList(value) && isTexts(value) && (value as unknown[]).every(isType)),
  ),
  ...all('enum', 'an array with a value or more', isList),
  ...all('required', 'an array of different names', isTexts),
  ...all('examples', 'an array', Array.isArray),
  ...all('const default', 'a value', (value) => value !== undefined),
  ...all('dependentRequired', 'arrays of names by their names', (value) => isMap(value, isTexts)),
  ...all(
    'additionalItems additionalProperties contains contentSchema else if not propertyNames then unevaluatedItems ' +
      'unevaluatedProperties',
    'a schema',
    isSchema,
  ),
  ...all(
    'items',
    'a schema (a list of them is called prefixItems since 2020-12)',
    (value, dialect) => isSchema(value) || (dialect !== '2020-12' && isSchemaList(value)),
  ),
  ...all('allOf anyOf oneOf prefixItems', 'an array with a schema or more', isSchemaList),
  ...all(
    '$defs definitions dependentSchemas patternProperties properties',
    'schemas by their names',
    (value) => isMap(value, isSchema),
  ),
  ...all('dependencies', 'schemas or arrays of names by their names', (value) =>
    isMap(value, (inner) => isSchema(inner) || isTexts(inner)),
  ),
])

/** Checks that every known keyword has a value which it can have. Throws BAD_SCHEMA. */
export function checkKeywords(schema: JsonObject): void {
  const dialect = dialectOfSchema(schema)
  for (const { schema: part, pointer } of subschemasOf(schema)) {
    for (const [keyword, value] of Object.entries(part)) {
      const rule = rules.get(keyword)
      if (rule === undefined || value === undefined || rule.allows(value, dialect)) continue
      throw refusal(`${pointer}/${keyword}`, `expected ${rule.expected}, got ${shown(keyword, value)}`)
    }
    checkTogether(part, pointer)
  }
}

/**
 * Whether an object describes values as fields by their names or as one JSON Schema; both may be possible.
 */
export function describedAs(input: JsonObject): 'fields' | 'schema' | 'either' {
  const entries = Object.entries(input)
  if (entries.length === 0 || !isPlainObject(input)) return 'schema'
  const known = entries.filter(([key]) => rules.has(key))
  const legal = known.filter(([key, value]) => rules.get(key)?.allows(value, '2020-12'))
  if (entries.every(([, value]) => isObject(value) && looksLikeSchema(value)))
    return legal.length === entries.length ? 'either' : 'fields'
  return legal.length === 0 && known.length < entries.length ? 'fields' : 'schema'
}

/** False for an object of a class, such as the schemas of libraries. */
function isPlainObject(input: JsonObject): boolean {
  const prototype: unknown = Object.getPrototypeOf(input)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether it has a keyword of JSON Schema or an extension; an empty object allows everything. */
function saysSomething(input: JsonObject): boolean {
  const keys = Object.keys(input)
  return keys.length === 0 || keys.some((key) => rules.has(key) || key.startsWith('x-'))
}

/** The same for keywords with values that they can have: a field may be called like a keyword. */
function looksLikeSchema(input: JsonObject): boolean {
  const entries = Object.entries(input)
  const says = ([key, value]: [string, unknown]) =>
    rules.get(key)?.allows(value, '2020-12') === true || key.startsWith('x-')
  return entries.length === 0 || entries.some(says)
}

/** Checks keywords that depend on each other. */
function checkTogether(part: JsonObject, pointer: string): void {
  const { nullable, type } = part
  if (nullable !== undefined && type === undefined)
    throw refusal(`${pointer}/nullable`, 'expected a type beside it')
  const isForgotten = Object.keys(part).length > 0 && Object.values(part).every(isObject)
  if (isForgotten && !saysSomething(part))
    throw refusal(
      pointer,
      `expected a schema, got fields by their names (${Object.keys(part).slice(0, 3).join(', ')}): they belong in properties, beside type: "object"`,
    )
}

function all(keywords: string, expected: string, allows: KeywordRule['allows']): [string, KeywordRule][] {
  return keywords.split(' ').map((keyword) => [keyword, { expected, allows }])
}

function isType(value: unknown): boolean {
  return types.includes(value as string)
}

function shown(keyword: string, value: unknown): string {
  const kind = kindOf(value)
  if (keyword === 'required' && typeof value === 'boolean')
    return `${kind}: names of properties stand beside them, { properties: { a: ... }, required: ["a"] }`
  return isText(value) && (value as string).length <= 40 ? JSON.stringify(value) : kind
}

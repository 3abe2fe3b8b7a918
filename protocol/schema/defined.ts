import { ProtocolError } from '../wire/errors.js'
import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import { isOwn, isStandard, type Schema, type SchemaInput, type SchemaSide, toSchema } from './schema.js'
import { checkKeywords, isPlainObject, saysSomething } from './keywords.js'
import { subschemasOf } from './limits.js'

/**
 * Takes any kind of schema that the author of this program writes, like `toSchema`, and says now what would
 * be found with the first value: a keyword with a value that it cannot have, fields where a schema belongs, a
 * schema of a library inside of a JSON Schema. Throws BAD_SCHEMA.
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

/** What writes a field of this type; also by the names that other languages have for it. */
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

/** What is no schema of any kind, and what to write in its place; undefined: it may be one. */
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

/** Schemas of libraries, or of versions of them, that do not follow Standard Schema. */
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

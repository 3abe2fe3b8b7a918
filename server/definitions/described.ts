import { ProtocolError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import {
  isStandard,
  type Schema,
  type SchemaInput,
  type SchemaSide,
  type StandardSchema,
  toSchema,
} from '../../protocol/schema/schema.js'
import { describedAs, toDefinedSchema } from '../../protocol/schema/defined.js'
import { Field, isField } from '../../protocol/schema/fields/field.js'
import { type FieldRecord, groupKind, toField } from '../../protocol/schema/fields/groups.js'
import type { FromJsonSchema, GroupOutput } from '../../protocol/schema/fields/types.js'
import { definitionError, type DefinitionReaders } from './definition.js'

/**
 * Describes values: the schema of any library, a JSON Schema, or fields by their names, which may be mixed.
 */
export type Described = SchemaInput | FieldRecord

/** Compiles at the first value. Throws BAD_DEFINITION, also for what could be fields or a JSON Schema. */
export function readSchema(
  read: DefinitionReaders,
  field: string,
  input: Described,
  side: SchemaSide = 'input',
): Schema {
  const as = shapeOf(input)
  if (as === 'schema') return readProtocol(read, field, () => toDefinedSchema(input as SchemaInput, side))
  if (as === 'fields') return readGroup(read, field, input as FieldRecord, side)
  const problem = `${field}: expected fields by their names or a JSON Schema, got what could be both: write field.group({ ... }), or a type beside its keywords`
  throw definitionError(read.about, field, problem)
}

/** Reads what could be both as fields. A schema that clients are shown needs `type: 'object'`. */
export function readObjectSchema(
  read: DefinitionReaders,
  field: string,
  input: Described,
  isShown: boolean,
): Schema {
  const isNothing = isObject(input) && Object.keys(input).length === 0
  if (isNothing || shapeOf(input) !== 'schema') return readGroup(read, field, input as FieldRecord)
  const schema = readProtocol(read, field, () => toDefinedSchema(input as SchemaInput))
  const { type } = schema.jsonSchema
  if (type === 'object' || (type === undefined && !isShown)) return schema
  const got = type === undefined ? "a schema without type: 'object'" : `a schema of type ${show(type)}`
  const problem = `${field}: expected fields by their names, or a schema of an object (type: 'object'), got ${got}`
  throw definitionError(read.about, field, problem)
}

/** Reads fields by their names. Throws BAD_DEFINITION, naming the field that is wrong. */
export function readFields(
  read: DefinitionReaders,
  field: string,
  record: FieldRecord,
  side: SchemaSide = 'input',
): Readonly<Record<string, Field>> {
  const fields = Object.entries(record).map(([name, input]) => {
    const one = readProtocol(read, `${field}.${name}`, () => {
      const made = toField(input, side)
      toSchema(made) // throws for a field that has none
      return made
    })
    return [name, one] as const
  })
  return Object.freeze(Object.fromEntries(fields))
}

/** What `work` returns; a ProtocolError that it throws becomes BAD_DEFINITION of this field. */
export function readProtocol<Read>({ about }: DefinitionReaders, field: string, work: () => Read): Read {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw definitionError(about, field, `${field}: ${cause.message}`, { cause })
  }
}

/**
 * An object with a field or a schema of a library in it is fields: keywords of JSON Schema have no such
 * values.
 */
function shapeOf(input: Described): 'fields' | 'schema' | 'either' {
  if (!isObject(input) || isStandard(input) || isField(input)) return 'schema'
  return Object.values(input).some(isStandard) ? 'fields' : describedAs(input)
}

function readGroup(
  read: DefinitionReaders,
  field: string,
  input: FieldRecord,
  side: SchemaSide = 'input',
): Schema {
  const fields = readFields(read, field, input, side)
  return readProtocol(read, field, () => toSchema(new Field(groupKind(fields), {}, 'required')))
}

/** The first argument of a tool's `run`, inferred from `input`; without `input` an empty object. */
export type ArgumentsOf<Input> = Input extends undefined
  ? NoArguments
  : Input extends StandardSchema<infer _, infer Output>
    ? Output
    : HasFields<Input> extends true
      ? GroupOutput<Input>
      : Input extends SchemaInput
        ? KnownOr<FromJsonSchema<Input>, Record<string, unknown>>
        : Record<string, unknown>

/** The value that a tool with this `output` returns: what its schema takes. */
export type StructuredOf<Output> =
  Output extends Field<infer Value, infer _>
    ? Value
    : Output extends StandardSchema<infer Value, infer _>
      ? Value
      : HasFields<Output> extends true
        ? GroupOutput<Output>
        : FromJsonSchema<Output>

/** The same type with all properties readonly, at any depth. */
export type Immutable<Value> = Value extends (...args: never[]) => unknown
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value

/** Fields, if one is a field or a library's schema, or all are JSON Schemas and the whole is none. */
export type HasFields<Input> = [Extract<Input[keyof Input], { readonly '~standard': unknown }>] extends [
  never,
]
  ? Input extends { readonly type: string | readonly string[] }
    ? false
    : [keyof Input] extends [never]
      ? false
      : [Input[keyof Input]] extends [PlainSchema]
        ? true
        : false
  : true

/** A JSON Schema has at least one of these; fields with these names have other types. */
type PlainSchema =
  | { readonly type: string | readonly string[] }
  | { readonly enum: readonly unknown[] }
  | { readonly const: string | number | boolean | null }
  | { readonly anyOf: readonly unknown[] }
  | { readonly oneOf: readonly unknown[] }
  | { readonly allOf: readonly unknown[] }
  | { readonly $ref: string }

type NoArguments = Readonly<Record<never, never>>

/** `T`, or `Otherwise` where nothing is known of it. */
export type KnownOr<T, Otherwise> = unknown extends T ? Otherwise : T

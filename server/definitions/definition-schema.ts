import { ProtocolError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import {
  isStandard,
  type Schema,
  type SchemaInput,
  type SchemaSide,
  toSchema,
} from '../../protocol/schema/schema.js'
import { describedAs, toDefinedSchema } from '../../protocol/schema/defined.js'
import { Field, isField } from '../../protocol/schema/fields/field.js'
import { type FieldRecord, groupKind, toField } from '../../protocol/schema/fields/groups.js'
import { ServerError } from '../base/errors.js'

/**
 * What describes the values of a component: the schema of any library, a JSON Schema, or fields by their
 * names, which may be mixed.
 */
export type Described = SchemaInput | FieldRecord

/** One value of a component that is described, for errors. */
export interface DescribedField {
  /** The component, such as `tool "x"`. */
  readonly about: string
  /** The field of its definition, such as `input`. */
  readonly field: string
}

/**
 * Reads what describes a value; whether it is right is checked now, compiling waits for the first value.
 * Throws BAD_DEFINITION, also for an object that could be fields or a JSON Schema as well.
 */
export function readSchema(where: DescribedField, input: Described, side: SchemaSide = 'input'): Schema {
  const as = shapeOf(input)
  if (as === 'schema') return orBad(where, () => toDefinedSchema(input as SchemaInput, side))
  if (as === 'either') throw ambiguous(where)
  return readGroup(where, input as FieldRecord, side)
}

/**
 * The same where values are objects, so that what could be both is fields; clients have to be shown that of
 * what they are shown.
 */
export function readObjectSchema(where: DescribedField, input: Described, isShown: boolean): Schema {
  const isNothing = isObject(input) && Object.keys(input).length === 0
  if (isNothing || shapeOf(input) !== 'schema') return readGroup(where, input as FieldRecord)
  const schema = orBad(where, () => toDefinedSchema(input as SchemaInput))
  const { type } = schema.jsonSchema
  if (type === 'object' || (type === undefined && !isShown)) return schema
  const got = type === undefined ? "a schema without type: 'object'" : `a schema of type ${show(type)}`
  const problem = `${where.about}: ${where.field}: expected fields by their names, or a schema of an object (type: 'object'), got ${got}`
  throw new ServerError('BAD_DEFINITION', problem, { data: { field: where.field } })
}

/** Reads fields by their names. Throws BAD_DEFINITION, naming the one that is none. */
export function readFields(
  { about, field }: DescribedField,
  record: FieldRecord,
  side: SchemaSide = 'input',
): Readonly<Record<string, Field>> {
  const read = ([name, input]: [string, FieldRecord[string]]) =>
    [name, orBad({ about, field: `${field}.${name}` }, () => checked(toField(input, side)))] as const
  return Object.freeze(Object.fromEntries(Object.entries(record).map(read)))
}

/** What a schema finds wrong with a definition, as BAD_DEFINITION. */
export function orBad<Read>({ about, field }: DescribedField, read: () => Read): Read {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw new ServerError('BAD_DEFINITION', `${about}: ${field}: ${cause.message}`, {
      cause,
      data: { field },
    })
  }
}

function checked(field: Field): Field {
  toSchema(field)
  return field
}

/** Among the keywords of a JSON Schema is no field and no schema of a library. */
function shapeOf(input: Described): 'fields' | 'schema' | 'either' {
  if (!isObject(input) || isStandard(input) || isField(input)) return 'schema'
  return Object.values(input).some(isStandard) ? 'fields' : describedAs(input)
}

function readGroup(where: DescribedField, input: FieldRecord, side: SchemaSide = 'input'): Schema {
  const fields = readFields(where, input, side)
  return orBad(where, () => toSchema(new Field(groupKind(fields), {}, 'required')))
}

function ambiguous({ about, field }: DescribedField): ServerError {
  const problem = `${about}: ${field}: expected fields by their names or a JSON Schema, got what could be both: write field.group({ ... }), or a type beside its keywords`
  return new ServerError('BAD_DEFINITION', problem, { data: { field } })
}

import { ProtocolError } from '../protocol/errors.js'
import { isObject } from '../protocol/json.js'
import { type Schema, type SchemaInput, type SchemaSide, toSchema } from '../protocol/schema.js'
import { Field } from '../protocol/schema-field.js'
import { type FieldRecord, groupKind, toField } from '../protocol/schema-field-groups.js'
import { ServerError } from './errors.js'

/** What describes the values of a component: the schema of any library, a JSON Schema, or fields by their names, which may be mixed. */
export type Described = SchemaInput | FieldRecord

/** One value of a component that is described, for errors. */
export interface DescribedField {
  /** The component, such as `tool "x"`. */
  readonly about: string
  /** The field of its definition, such as `input`. */
  readonly field: string
}

/** Whether these are fields by their names: among them is a field, or the schema of a library. A JSON Schema has neither among its keywords. */
export function isFieldRecord(input: unknown): input is FieldRecord {
  return isObject(input) && !isStandard(input) && Object.values(input).some(isStandard)
}

/** Reads what describes a value; limits and references are checked now, compiling waits for the first value. Throws BAD_DEFINITION. */
export function readSchema(where: DescribedField, input: Described, side: SchemaSide = 'input'): Schema {
  if (!isFieldRecord(input)) return orBad(where, () => toSchema(input as SchemaInput, side))
  const fields = readFields(where, input, side)
  return orBad(where, () => toSchema(new Field(groupKind(fields), {}, 'required')))
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

function isStandard(value: unknown): boolean {
  return (isObject(value) || typeof value === 'function') && isObject(Reflect.get(value, '~standard'))
}

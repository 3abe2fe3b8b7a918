import type { FromJsonSchema, GroupOutput } from '../../protocol/schema/fields/types.js'
import type { SchemaInput, StandardSchema } from '../../protocol/schema/schema.js'
import type { Field } from '../../protocol/schema/fields/field.js'

/**
 * What a tool's `run` is given, inferred from its `input`: a Standard Schema's output, the values of fields
 * by their names, or what a literal JSON Schema says; nothing without it.
 */
export type ArgumentsOf<Input> = Input extends undefined
  ? NoArguments
  : Input extends StandardSchema<infer _, infer Output>
    ? Output
    : HasFields<Input> extends true
      ? GroupOutput<Input>
      : Input extends SchemaInput
        ? KnownOr<FromJsonSchema<Input>, Record<string, unknown>>
        : Record<string, unknown>

/** The value that a tool with this `output` may return: what its schema takes. */
export type StructuredOf<Output> =
  Output extends Field<infer Value, infer _>
    ? Value
    : Output extends StandardSchema<infer Value, infer _>
      ? Value
      : HasFields<Output> extends true
        ? GroupOutput<Output>
        : FromJsonSchema<Output>

/** The same value, which is only read. */
export type Immutable<Value> = Value extends (...args: never[]) => unknown
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
    : Value

/**
 * Whether these are fields by their names: one of them is a field or the schema of a library, or all are JSON
 * Schemas and it is none itself.
 */
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

/** What a JSON Schema has one of at least; fields by their names have another type under these names. */
type PlainSchema =
  | { readonly type: string | readonly string[] }
  | { readonly enum: readonly unknown[] }
  | { readonly const: string | number | boolean | null }
  | { readonly anyOf: readonly unknown[] }
  | { readonly oneOf: readonly unknown[] }
  | { readonly allOf: readonly unknown[] }
  | { readonly $ref: string }

/** Of an object without properties none can be read. */
type NoArguments = Readonly<Record<never, never>>

type KnownOr<T, Otherwise> = unknown extends T ? Otherwise : T

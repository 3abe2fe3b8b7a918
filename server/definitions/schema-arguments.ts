import type { FromJsonSchema, GroupOutput } from '../../protocol/schema/fields/types.js'
import type { SchemaInput, StandardSchema } from '../../protocol/schema/schema.js'
import type { Field } from '../../protocol/schema/fields/field.js'

/**
 * The first argument of a tool's `run`, inferred from its `input`: a Standard Schema's output, the values of
 * fields by their names, or the type of a literal JSON Schema; an empty object without `input`.
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

/**
 * Whether these are fields by their names: one is a field or the schema of a library, or all are JSON Schemas
 * and the whole is none.
 */
type HasFields<Input> = [Extract<Input[keyof Input], { readonly '~standard': unknown }>] extends [never]
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

/** An object without known properties. */
type NoArguments = Readonly<Record<never, never>>

type KnownOr<T, Otherwise> = unknown extends T ? Otherwise : T

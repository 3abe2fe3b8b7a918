import type { StandardSchema } from '../schema.js'
import type { Field } from './field.js'
import type { FromJsonSchema } from './json-schema-types.js'

/** The type that a value has once whatever describes it has read it. */
export type OutputOf<Input> =
  Input extends Field<infer Output, infer _>
    ? Output
    : Input extends StandardSchema<infer _, infer Output>
      ? Output
      : FromJsonSchema<Input>

/** The type of an object, from what describes its fields. */
export type GroupOutput<Fields> = Flat<
  {
    -readonly [Name in keyof Fields as IsOpen<Fields[Name]> extends true ? never : Name]: OutputOf<
      Fields[Name]
    >
  } & {
    -readonly [Name in keyof Fields as IsOpen<Fields[Name]> extends true ? Name : never]?: OutputOf<
      Fields[Name]
    >
  }
>

type IsOpen<Input> =
  Input extends Field<infer _, infer P>
    ? P extends 'optional'
      ? true
      : false
    : Input extends StandardSchema<infer _, infer Output>
      ? undefined extends Output
        ? true
        : false
      : false

type Flat<T> = { [Key in keyof T]: T[Key] }

import type { StandardSchema } from '../schema.js'
import type { CalendarDate, ClockTime, NaiveDateTime, ZonedDateTime } from './calendar.js'
import type { Field } from './field.js'

/** The type of the values that a field or schema reads. */
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

/** The values of a JSON Schema written as a literal; `unknown` for what types cannot say. */
export type FromJsonSchema<Schema> = Schema extends { const: infer Value }
  ? Value
  : Schema extends { enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { type: infer Type }
      ? FromType<Type, Schema>
      : unknown

type FromType<Type, Schema> = Type extends readonly (infer One)[]
  ? FromType<One, Schema>
  : Type extends keyof Simple
    ? Simple[Type]
    : Type extends 'array'
      ? FromArray<Schema>
      : Type extends 'object'
        ? FromObject<Schema>
        : unknown

interface Simple {
  string: string
  integer: number
  number: number
  boolean: boolean
  null: null
}

type FromArray<Schema> = Schema extends { items: infer Items } ? FromJsonSchema<Items>[] : unknown[]

type FromObject<Schema> = Schema extends { properties: infer Properties }
  ? Flat<
      {
        -readonly [Key in keyof Properties as Key extends RequiredKeys<Schema> ? Key : never]: FromJsonSchema<
          Properties[Key]
        >
      } & {
        -readonly [Key in keyof Properties as Key extends RequiredKeys<Schema>
          ? never
          : Key]?: FromJsonSchema<Properties[Key]>
      }
    >
  : Record<string, unknown>

type RequiredKeys<Schema> = Schema extends { required: readonly (infer Key)[] } ? Key : never

/** What a caller sends for a field or schema. */
type InputOf<Input> =
  Input extends Field<infer Output, infer _>
    ? Sent<Output>
    : Input extends StandardSchema<infer Given, infer _>
      ? Given
      : FromJsonSchema<Input>

/**
 * What a caller sends for an object, from what describes its fields: those with a default may be left out.
 */
export type GroupInput<Fields> = Flat<
  {
    -readonly [Name in keyof Fields as MayLack<Fields[Name]> extends true ? never : Name]: InputOf<
      Fields[Name]
    >
  } & {
    -readonly [Name in keyof Fields as MayLack<Fields[Name]> extends true ? Name : never]?: InputOf<
      Fields[Name]
    >
  }
>

type MayLack<Input> =
  Input extends Field<infer _, infer P>
    ? P extends 'required'
      ? false
      : true
    : Input extends StandardSchema<infer Given, infer _>
      ? undefined extends Given
        ? true
        : false
      : Input extends { readonly default: unknown }
        ? true
        : false

/** A value as it is sent: days and times are texts. */
export type Sent<Value> = Value extends CalendarDate | ClockTime | NaiveDateTime | ZonedDateTime
  ? string
  : Value extends readonly (infer Item)[]
    ? Sent<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: Sent<Value[Key]> }
      : Value

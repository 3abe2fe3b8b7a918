/**
 * The values that a JSON Schema written as a literal describes; `unknown` where it uses what types cannot
 * say.
 */
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

type Flat<T> = { [Key in keyof T]: T[Key] }

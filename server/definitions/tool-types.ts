import type { StandardSchema } from '../../protocol/schema/schema.js'
import type { Field } from '../../protocol/schema/fields/field.js'
import type { FromJsonSchema, GroupInput, GroupOutput, Sent } from '../../protocol/schema/fields/types.js'
import type { ToolTypes } from '../../protocol/messages/server-types.js'
import type { HasFields, KnownOr } from './described.js'
import type { ToolDefinition } from './define-tool.js'

/** What a caller of a tool with this `input` gives. */
export type InputOfTool<Input> = Input extends undefined
  ? Readonly<Record<never, never>>
  : Input extends Field<infer Value, infer _>
    ? Sent<Value>
    : Input extends StandardSchema<infer Given, infer _>
      ? Given
      : HasFields<Input> extends true
        ? GroupInput<Input>
        : KnownOr<FromJsonSchema<Input>, Record<string, unknown>>

/** What a caller of a tool with this `output` finds in `structuredContent`. */
export type OutputOfTool<Output> = Output extends undefined
  ? undefined
  : Output extends Field<infer Value, infer _>
    ? Sent<Value>
    : Output extends StandardSchema<infer _, infer Made>
      ? Made
      : HasFields<Output> extends true
        ? Sent<GroupOutput<Output>>
        : FromJsonSchema<Output>

/** The types of tools by the names that clients call them by. */
export type TypesOfTools<Tools> = Tools extends readonly (infer One)[]
  ? { readonly [Each in One as WireName<Each, never>]: TypesOfTool<Each> }
  : { readonly [Key in keyof Tools as WireName<Tools[Key], Key>]: TypesOfTool<Tools[Key]> }

type TypesOfTool<Tool> =
  Tool extends ToolDefinition<infer _, infer Types extends ToolTypes> ? Types : ToolTypes

/** Its name, or the key in snake case. */
type WireName<Tool, Key> = Tool extends { readonly name: infer Name }
  ? Name extends string
    ? Name
    : Key extends string
      ? SnakeCase<Key>
      : never
  : never

/** As `nameFrom` makes it: `add_numbers` of `addNumbers` and `AddNumbers`, `read_url` of `readURL`. */
export type SnakeCase<Text extends string> = Lowercase<Split<Text, ''>>

/** Puts `_` between `aB` and between `A` and `Bc`. `Before` is the character before. */
type Split<Text extends string, Before extends string> = Text extends `${infer First}${infer Rest}`
  ? `${Separator<Before, First, Rest>}${First}${Split<Rest, First>}`
  : ''

type Separator<Before extends string, First extends string, Rest extends string> =
  IsUpper<First> extends true
    ? IsLowerOrDigit<Before> extends true
      ? '_'
      : IsUpper<Before> extends true
        ? Rest extends `${infer Next}${string}`
          ? IsLower<Next> extends true
            ? '_'
            : ''
          : ''
        : ''
    : ''

type IsUpper<Char extends string> = Char extends Lowercase<Char> ? false : true
type IsLower<Char extends string> = Char extends Uppercase<Char> ? false : true
type IsLowerOrDigit<Char extends string> = Char extends Digit ? true : Char extends '' ? false : IsLower<Char>
type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9'

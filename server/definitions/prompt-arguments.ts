import type { Parsed } from '../../protocol/schema/schema.js'
import type { Field } from '../../protocol/schema/fields/field.js'
import { groupKind } from '../../protocol/schema/fields/groups.js'
import type { PromptArgument } from '../../protocol/messages/prompts.js'

/** Reads all arguments from their texts at once. */
export type ArgumentReader = (
  texts: Readonly<Record<string, string>>,
) => Parsed<object> | Promise<Parsed<object>>

type Fields = Readonly<Record<string, Field>>

/** The arguments as a list of prompts shows them: name, title, description, and whether they are required. */
export function shownArguments(fields: Fields): readonly Readonly<PromptArgument>[] {
  return Object.freeze(
    Object.entries(fields).map(([name, { jsonSchema, presence }]) => {
      const { title, description } = jsonSchema
      return Object.freeze({
        name,
        ...(typeof title === 'string' && { title }),
        ...(typeof description === 'string' && { description }),
        required: presence === 'required',
      })
    }),
  )
}

/**
 * How arguments are read: each text becomes the value that it stands for, and is checked; what nobody has
 * asked for is dropped.
 */
export function readerOf(fields: Fields): ArgumentReader {
  const { parse } = groupKind(fields)
  const all = Object.entries(fields)
  function read(texts: Readonly<Record<string, string>>): Parsed<object> | Promise<Parsed<object>> {
    const values: [string, unknown][] = []
    for (const [name, field] of all) {
      const text = Object.hasOwn(texts, name) ? texts[name] : undefined
      if (text !== undefined) values.push([name, field.fromText(text)])
    }
    return parse(Object.fromEntries(values))
  }
  return read
}

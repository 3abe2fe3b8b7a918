import { isObject } from '../../protocol/wire/json.js'

/**
 * Components of one kind: in an array, each with its name; or by their names, like the exports of a module,
 * where one without a name is called by its key.
 */
export type Named<Whole, Nameless> = readonly Whole[] | { readonly [key: string]: Whole | Nameless }

/**
 * The name that a variable's name stands for: `addNumbers` and `AddNumbers` are `add_numbers`, `readURL` is
 * `read_url`; what is in snake case already stays as it is.
 */
export function nameFrom(key: string): string {
  return key
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
}

/** The same definition with a name, if it had none. */
export function namedBy<Definition>(definition: Definition, key: string): Definition {
  if (!isObject(definition) || definition.name !== undefined) return definition
  return Object.freeze({ ...definition, name: nameFrom(key) })
}

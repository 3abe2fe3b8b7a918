import { isObject } from '../../protocol/wire/json.js'
import type { Completion } from '../../protocol/messages/completion.js'
import type { ToolContext } from '../context/context.js'
import type { DefinitionReaders } from './definition.js'

/**
 * Suggests values for what is typed so far, best first. `chosen` are the arguments chosen before (none before
 * 2025-06-18). At most 100 are sent, and the client is told that there are more.
 */
export type Completer<Context = ToolContext> = (
  value: string,
  chosen: Readonly<Record<string, string>>,
  ctx: Context,
) => readonly string[] | Completion | Promise<readonly string[] | Completion>

/** Completers by the argument or variable that they complete. */
export type Completers<Name extends string = string, Context = ToolContext> = {
  readonly [Key in Name]?: Completer<Context>
}

/** A checked and frozen copy. Throws BAD_DEFINITION, naming the argument. */
export function readCompleters(
  { bad, readFunction }: DefinitionReaders,
  completers: unknown = {},
  names: readonly string[],
): Completers {
  if (!isObject(completers)) throw bad('complete', 'an object of functions', completers)
  for (const [name, completer] of Object.entries(completers)) {
    if (!names.includes(name)) throw bad(`complete.${name}`, `a name among ${names.join(', ')}`, name)
    readFunction(completer, `complete.${name}`)
  }
  return Object.freeze({ ...completers }) as Completers
}

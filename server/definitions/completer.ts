import { isObject } from '../../protocol/wire/json.js'
import type { Completion } from '../../protocol/messages/completion.js'
import type { ToolContext } from '../context/context.js'
import { badDefinition, checkFunction } from './definition.js'

/**
 * Suggests values for what is typed so far, best first; `chosen` are the arguments that are chosen already
 * (none before 2025-06-18). More than 100 are cut off, and the client is told that there are more.
 */
export type Completer<Context = ToolContext> = (
  value: string,
  chosen: Readonly<Record<string, string>>,
  ctx: Context,
) => readonly string[] | Completion | Promise<readonly string[] | Completion>

/** Completers by the argument or variable they are for. */
export type Completers<Name extends string = string, Context = ToolContext> = {
  readonly [Key in Name]?: Completer<Context>
}

/** A checked and frozen copy. Throws BAD_DEFINITION, naming the argument. */
export function readCompleters(about: string, completers: unknown, names: readonly string[]): Completers {
  if (completers === undefined) return Object.freeze({})
  if (!isObject(completers)) throw badDefinition(about, 'complete', 'an object of functions', completers)
  for (const [name, completer] of Object.entries(completers)) {
    if (!names.includes(name))
      throw badDefinition(about, `complete.${name}`, `a name among ${names.join(', ')}`, name)
    checkFunction(about, `complete.${name}`, completer)
  }
  return Object.freeze({ ...completers }) as Completers
}

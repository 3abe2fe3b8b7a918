import { errorCodes, McpError } from '../../protocol/errors.js'
import type { Params } from '../../protocol/methods.js'
import { show } from '../../runtime/errors.js'
import { toPromptResult } from '../results.js'
import { type Immediate, noAnswerIn, type RouteScope, type Work } from '../work.js'

/** Answers `prompts/list` with bytes that are made once (specification: prompts). */
export function listPrompts({ cursor }: Params<'prompts/list'>, { catalog, dialect }: RouteScope): Immediate {
  return catalog.prompts.page(cursor, dialect)
}

/** Plans `prompts/get`. Throws McpError -32602 for a prompt that does not exist, and for required arguments that are missing. */
export function getPrompt(
  { name, arguments: args = {} }: Params<'prompts/get'>,
  { catalog }: RouteScope,
): Work {
  const prompt = catalog.prompts.get(name)
  if (prompt === undefined) throw new McpError(errorCodes.invalidParams, `Unknown prompt: ${show(name)}`)
  const missing = prompt.arguments.filter((known) => known.required && !Object.hasOwn(args, known.name))
  if (missing.length > 0) {
    const names = missing.map((argument) => argument.name).join(', ')
    throw new McpError(errorCodes.invalidParams, `Missing required arguments of prompt ${name}: ${names}`)
  }
  return {
    name: `prompts/get ${name}`,
    timeout: prompt.timeout,
    run: async (ctx) => toPromptResult(prompt, await prompt.get(args as never, ctx)),
    timedOut: (ms) => noAnswerIn(ms, 'writing the prompt'),
  }
}

import { errorCodes, McpError } from '../../../protocol/wire/errors.js'
import type { Params } from '../../../protocol/messages/methods.js'
import type { Issue } from '../../../protocol/schema/issues.js'
import type { GetPromptResult } from '../../../protocol/messages/prompts.js'
import { messageOf, show } from '../../../runtime/base/errors.js'
import { checkAllowed } from '../../context/scopes.js'
import type { ToolContext } from '../../context/context.js'
import type { PromptDefinition } from '../../definitions/define-prompt.js'
import { isOutsideRoots } from '../../base/errors.js'
import { toPromptResult } from '../../results/results.js'
import { checkUsable } from '../../definitions/session-needs.js'
import type { Immediate } from '../../catalog/immediate.js'
import { noAnswerIn, type RouteScope, type Work } from '../work.js'

/** Answers `prompts/list` with bytes that are made once (specification: prompts). */
export function listPrompts({ cursor }: Params<'prompts/list'>, scope: RouteScope): Immediate {
  return scope.catalog.prompts.page(cursor, scope)
}

/**
 * Plans `prompts/get`. Throws McpError 403 for a scope that is not there, and -32602 for a prompt that does
 * not exist, and for required arguments that are missing; fields are read in the task, and what is wrong with
 * them is told all at once.
 */
export function getPrompt(
  { name, arguments: args = {} }: Params<'prompts/get'>,
  { catalog, peer, dialect }: RouteScope,
): Work {
  const prompt = catalog.prompts.get(name)
  if (prompt === undefined) throw new McpError(errorCodes.invalidParams, `Unknown prompt: ${show(name)}`)
  checkAllowed(peer, prompt)
  checkUsable(dialect, prompt, `prompt ${show(name)}`)
  const { reader, timeout } = prompt
  if (reader === undefined) checkRequired(prompt, args)
  return {
    name: `prompts/get ${name}`,
    timeout,
    run: (ctx) => runPrompt(prompt, args, ctx),
    timedOut: (ms) => noAnswerIn(ms, 'writing the prompt'),
  }
}

function checkRequired({ name, arguments: known }: PromptDefinition, args: object): void {
  const missing = known.filter((argument) => argument.required && !Object.hasOwn(args, argument.name))
  if (missing.length === 0) return
  const names = missing.map((argument) => argument.name).join(', ')
  throw new McpError(errorCodes.invalidParams, `Missing required arguments of prompt ${name}: ${names}`)
}

async function runPrompt(
  prompt: PromptDefinition,
  args: Record<string, string>,
  ctx: ToolContext,
): Promise<GetPromptResult> {
  const parsed = prompt.reader === undefined ? { value: args } : await prompt.reader(args)
  if ('issues' in parsed) throw badPromptArguments(prompt.name, parsed.issues)
  try {
    return toPromptResult(prompt, await prompt.get(parsed.value as never, ctx))
  } catch (error) {
    throw isOutsideRoots(error) ? new McpError(errorCodes.invalidParams, messageOf(error)) : error
  }
}

/** All that is wrong with the arguments, each named. */
function badPromptArguments(prompt: string, issues: readonly Issue[]): McpError {
  const problems = issues.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return new McpError(
    errorCodes.invalidParams,
    `The arguments of prompt ${prompt} are not valid: ${problems}`,
    {
      data: { issues },
    },
  )
}

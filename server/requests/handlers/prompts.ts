import { McpError } from '../../../protocol/wire/errors.js'
import type { Params } from '../../../protocol/messages/methods.js'
import type { GetPromptResult } from '../../../protocol/messages/prompts.js'
import { messageOf, show } from '../../../runtime/base/errors.js'
import { checkAllowed } from '../../context/scopes.js'
import type { ToolContext } from '../../context/context.js'
import type { PromptDefinition } from '../../definitions/define-prompt.js'
import { isOutsideRoots } from '../../base/errors.js'
import { toPromptResult } from '../../results/results.js'
import { checkUsable } from '../../definitions/session-needs.js'
import { unknown } from './unknown.js'
import { noAnswerFrom, noAnswerIn, notValid, type RouteScope, type Work } from '../work.js'

/** Fields are checked in the task. Throws McpError 403 (scope) and -32602 (prompt, missing arguments). */
export function getPrompt(params: Params<'prompts/get'>, { catalog, peer, dialect }: RouteScope): Work {
  const { name, arguments: args = {} } = params
  const prompt = catalog.prompts.get(name)
  const absent = () => catalog.absent(name, peer) ?? unknown('prompt', name, catalog.prompts, peer)
  if (prompt === undefined) throw absent()
  checkAllowed(peer, prompt, absent)
  checkUsable(dialect, prompt, `prompt ${show(name)}`)
  const { reader, timeout, relayed } = prompt
  if (reader === undefined && relayed === undefined) checkRequired(prompt, args)
  return {
    name: `prompts/get ${name}`,
    timeout,
    run: (ctx) => (relayed === undefined ? runPrompt(prompt, args, ctx) : relayed.run(params, ctx)),
    timedOut: (ms) =>
      relayed === undefined ? noAnswerIn(ms, 'writing the prompt') : noAnswerFrom(relayed, ms),
  }
}

function checkRequired({ name, arguments: known }: PromptDefinition, args: object): void {
  const missing = known.filter((argument) => argument.required && !Object.hasOwn(args, argument.name))
  if (missing.length === 0) return
  const names = missing.map((argument) => argument.name).join(', ')
  throw McpError.invalidParams(`Missing required arguments of prompt ${name}: ${names}`)
}

async function runPrompt(
  prompt: PromptDefinition,
  args: Record<string, string>,
  ctx: ToolContext,
): Promise<GetPromptResult> {
  const parsed = prompt.reader === undefined ? { value: args } : await prompt.reader(args)
  if ('issues' in parsed) throw notValid(`arguments of prompt ${prompt.name}`, 'arguments', parsed.issues)
  try {
    return toPromptResult(prompt, await prompt.get(parsed.value as never, ctx))
  } catch (error) {
    throw isOutsideRoots(error) ? McpError.invalidParams(messageOf(error)) : error
  }
}

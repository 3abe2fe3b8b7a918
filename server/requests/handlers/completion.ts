import { limitCompletion } from '../../../protocol/messages/completion.js'
import { McpError } from '../../../protocol/wire/errors.js'
import { isObject } from '../../../protocol/wire/json.js'
import type { Params, Result } from '../../../protocol/messages/methods.js'
import { checkSentResult } from '../../../protocol/messages/params.js'
import { show } from '../../../runtime/base/errors.js'
import { checkAllowed, type Guarded } from '../../context/scopes.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { Completers } from '../../definitions/completer.js'
import type { Peer } from '../../../transports/contract/contract.js'
import type { Relayed } from '../../definitions/relayed.js'
import { ServerError } from '../../base/errors.js'
import { checkUsable, type MayNeedSession } from '../../definitions/session-needs.js'
import { type Immediate, immediate } from '../../catalog/immediate.js'
import { noAnswerFrom, noAnswerIn, type RouteScope, type Work } from '../work.js'

/** Milliseconds: suggestions come too late after that. */
const timeout = 10_000

interface Target extends Guarded, MayNeedSession {
  readonly relayed?: Relayed | undefined
  readonly names: readonly string[]
  readonly completers: Completers
}

/** Throws McpError -32602 for an unknown prompt, resource or argument, and 403 for a missing scope. */
export function complete(
  params: Params<'completion/complete'>,
  { catalog, dialect, peer }: RouteScope,
): Immediate | Work {
  const { ref, argument, context } = params
  const target = find(ref, catalog, peer)
  checkAllowed(peer, target, () => absent(ref))
  checkUsable(dialect, target, 'what is to be completed')
  const { name, value } = argument
  const { relayed } = target
  if (relayed?.complete !== undefined)
    return {
      name: 'completion/complete',
      timeout,
      run: (ctx) => relayed.complete?.(params, ctx) ?? {},
      timedOut: (ms) => noAnswerFrom(relayed, ms),
    }
  // the arguments of what another server has are known there alone
  if (relayed === undefined && !target.names.includes(name))
    throw McpError.invalidParams(`Unknown argument: ${show(name)}`)
  const completer = Object.hasOwn(target.completers, name) ? target.completers[name] : undefined
  if (completer === undefined)
    return immediate(catalog.finish(dialect, 'completion/complete', { completion: { values: [] } }))
  return {
    name: `completion/complete ${name}`,
    timeout,
    run: async (ctx) => toResult(await completer(value, context?.arguments ?? {}, ctx)),
    timedOut: (ms) => noAnswerIn(ms, 'completing the argument'),
  }
}

function find(ref: Params<'completion/complete'>['ref'], catalog: Catalog, peer: Peer): Target {
  const { prompts, templates } = catalog
  if (ref.type === 'ref/prompt') {
    const prompt = prompts.get(ref.name)
    if (prompt === undefined) throw catalog.absent(ref.name, peer) ?? absent(ref)
    const { completers, scopes, permits, session, relayed } = prompt
    return { names: prompt.arguments.map(({ name }) => name), completers, scopes, permits, session, relayed }
  }
  // the uri of the template, or of one of its resources
  const found = catalog.find(ref.uri)
  const template = templates.get(ref.uri) ?? (found && 'template' in found ? found.template : undefined)
  if (template === undefined) throw absent(ref)
  const { completers, scopes, permits, session, relayed } = template
  return { names: template.matcher.variables, completers, scopes, permits, session, relayed }
}

function toResult(returned: unknown): Result<'completion/complete'> {
  const completion = Array.isArray(returned) ? { values: returned } : returned
  try {
    if (!isObject(completion)) throw new TypeError(`got ${show(returned)}`)
    const result = checkSentResult('completion/complete', { completion })
    return { ...result, completion: limitCompletion(result.completion) }
  } catch (cause) {
    const problem = `a completer returned no suggestions: expected an array of strings, or an object with values; ${(cause as Error).message}`
    throw new ServerError('BAD_RESULT', problem, { cause })
  }
}

function absent(ref: Params<'completion/complete'>['ref']): McpError {
  const [kind, name] = ref.type === 'ref/prompt' ? ['prompt', ref.name] : ['resource template', ref.uri]
  return McpError.invalidParams(`Unknown ${kind}: ${show(name)}`)
}

import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { isMethod, type Method } from '../../protocol/messages/methods.js'
import { checkSentResult } from '../../protocol/messages/params.js'
import { show } from '../../runtime/base/errors.js'
import type { MethodDefinition } from '../definitions/define-method.js'
import { ServerError } from '../base/errors.js'
import { toolCrash } from '../results/results.js'
import type { RequestHandler } from '../definitions/low-level.js'
import type { Immediate } from '../catalog/immediate.js'
import { noAnswerIn, notValid, type Work } from './work.js'

/** The methods of the protocol that `handleRequest` may answer; the others belong to the server. */
const ownable: ReadonlySet<string> = new Set<Method>([
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'skills/list',
  'skills/get',
  'resources/directory/read',
])

/** Whether `handleRequest` is asked first: about these, and what the protocol does not know. */
export function isOwnable(method: string): boolean {
  return ownable.has(method) || !isMethod(method)
}

export function planMethod(
  name: string,
  { params: schema, timeout, run }: MethodDefinition,
  params: JsonObject = {},
): Work {
  const { _meta, ...given } = params
  return {
    name,
    timeout,
    async run(ctx) {
      const parsed = schema === undefined ? { value: given } : await schema.parse(given)
      if ('issues' in parsed) throw notValid(`params of ${name}`, 'params', parsed.issues)
      return objectFrom(name, await run(parsed.value as never, ctx))
    },
    timedOut: (ms) => noAnswerIn(ms, `answering ${name}`),
  }
}

/** `plan` is the server's own answer, for `next`. Throws McpError for what no handler can mend. */
export function planOwned(
  { method }: JsonRpcRequest,
  handle: RequestHandler,
  plan: () => Immediate | Work,
): Work {
  const planned = attempt(plan)
  const work = 'run' in planned ? planned : undefined
  return {
    name: work?.name ?? method.slice(0, 100),
    timeout: work?.timeout,
    cache: work?.cache,
    async run(ctx) {
      const next = async () => {
        if (planned instanceof McpError) throw planned
        return 'text' in planned ? planned.result : planned.run(ctx)
      }
      const returned: unknown = await handle(ctx.request, ctx, next)
      if (returned === undefined && isMethod(method)) throw nothingFrom(method)
      const result = objectFrom(`handleRequest: ${method}`, returned)
      return isMethod(method) ? checkSentResult(method, result) : result
    },
    timedOut: (ms) => work?.timedOut(ms) ?? noAnswerIn(ms, `answering ${method.slice(0, 100)}`),
    ...(method === 'tools/call' && { crashed: toolCrash }),
  }
}

const unknown: ReadonlySet<number> = new Set([errorCodes.methodNotFound, errorCodes.invalidParams])

/** A handler may know a method, a tool or a prompt that the server does not. */
function attempt(plan: () => Immediate | Work): Immediate | Work | McpError {
  try {
    return plan()
  } catch (error) {
    if (error instanceof McpError && unknown.has(error.code)) return error
    throw error
  }
}

/** No result of these methods is empty. */
function nothingFrom(method: string): ServerError {
  const problem = `handleRequest: ${method} returned nothing: return a result, or the server's own: return next()`
  return new ServerError('BAD_RESULT', problem)
}

function objectFrom(about: string, result: unknown): JsonObject {
  if (result === undefined) return {}
  if (isObject(result)) return result
  throw new ServerError('BAD_RESULT', `${about} returned no result: expected an object, got ${show(result)}`)
}

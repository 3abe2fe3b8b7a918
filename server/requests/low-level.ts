import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { isMethod, type Method } from '../../protocol/messages/methods.js'
import { checkSentResult } from '../../protocol/messages/params.js'
import { show } from '../../runtime/base/errors.js'
import type { ToolContext } from '../context/context.js'
import type { MethodDefinition } from '../definitions/define-method.js'
import { ServerError } from '../base/errors.js'
import type { RequestHandler } from '../definitions/low-level.js'
import type { Immediate } from '../catalog/immediate.js'
import { noAnswerIn, type Work } from './work.js'

/** What `handleRequest` may own of the protocol: the rest belongs to the session. */
const ownable: ReadonlySet<string> = new Set<Method>([
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
])

/** Whether `handleRequest` is asked about a method. */
export function isOwnable(method: string): boolean {
  return ownable.has(method) || !isMethod(method)
}

/** Plans a method of the author's own. */
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
      if ('issues' in parsed) throw badParams(name, parsed.issues)
      return objectFrom(name, await run(parsed.value as never, ctx))
    },
    timedOut: (ms) => noAnswerIn(ms, `answering ${name}`),
  }
}

/**
 * Plans a request that `handleRequest` is asked about first: `plan` is what the server would do. Throws what
 * concerns no handler, such as a lack of scope.
 */
export function planOwned(
  { method }: JsonRpcRequest,
  handle: RequestHandler,
  plan: () => Immediate | Work,
): Work {
  const planned = attempt(plan)
  const work = typeof planned === 'object' && 'run' in planned ? planned : undefined
  return {
    name: work?.name ?? method.slice(0, 100),
    timeout: work?.timeout,
    cache: work?.cache,
    async run(ctx) {
      const result = await handle(ctx.request, ctx, () => resultOf(planned, ctx))
      return ownResult(method, result)
    },
    timedOut: (ms) => work?.timedOut(ms) ?? noAnswerIn(ms, `answering ${method.slice(0, 100)}`),
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

async function resultOf(planned: Immediate | Work | McpError, ctx: ToolContext): Promise<object> {
  if (planned instanceof McpError) throw planned
  return 'text' in planned ? planned.result : planned.run(ctx)
}

function ownResult(method: string, given: unknown): object {
  const result = objectFrom(`handleRequest: ${method}`, given)
  return isMethod(method) ? checkSentResult(method, result) : result
}

function objectFrom(about: string, result: unknown): JsonObject {
  if (result === undefined) return {}
  if (isObject(result)) return result
  throw new ServerError('BAD_RESULT', `${about} returned no result: expected an object, got ${show(result)}`)
}

function badParams(method: string, issues: readonly { path: string; message: string }[]): McpError {
  const problems = issues
    .map(({ path, message }) => `${path === '' ? 'params' : path}: ${message}`)
    .join('; ')
  return new McpError(errorCodes.invalidParams, `The params of ${method} are not valid: ${problems}`, {
    data: { issues },
  })
}

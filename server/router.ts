import { missingCapability } from '../protocol/capabilities.js'
import { acceptsRequest } from '../protocol/dialect.js'
import { errorCodes, McpError } from '../protocol/errors.js'
import { fitResult } from '../protocol/fit.js'
import type { JsonRpcRequest } from '../protocol/jsonrpc.js'
import type { Method, Params, RequestTo, Result } from '../protocol/methods.js'
import { readParams } from '../protocol/params.js'
import { complete } from './handlers/completion.js'
import { setLevel } from './handlers/logging.js'
import { ping } from './handlers/ping.js'
import { getPrompt, listPrompts } from './handlers/prompts.js'
import { listResources, listTemplates, readResource, subscribe, unsubscribe } from './handlers/resources.js'
import { callTool, listTools } from './handlers/tools.js'
import type { Immediate, RouteScope, Work } from './work.js'

type Served = Exclude<RequestTo<'server'>, 'initialize'>

const handlers: { readonly [M in Served]: (params: Params<M>, scope: RouteScope) => Immediate | Work } = {
  ping,
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': listResources,
  'resources/templates/list': listTemplates,
  'resources/read': readResource,
  'resources/subscribe': subscribe,
  'resources/unsubscribe': unsubscribe,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'completion/complete': complete,
  'logging/setLevel': setLevel,
}

/**
 * What is to be done about a request. Throws McpError: -32601 for a method that the revision or the server does not have, -32602
 * for bad params, -32600 for a second `initialize`.
 */
export function route({ method, params }: JsonRpcRequest, scope: RouteScope): Immediate | Work {
  if (!acceptsRequest(scope.dialect, 'server', method)) throw unknownMethod(method)
  if (method === 'initialize')
    throw new McpError(errorCodes.invalidRequest, 'this session is initialized already')
  const missing = missingCapability(method, scope.catalog.capabilities, scope.dialect)
  if (missing !== undefined) throw unknownMethod(method)
  const handle = handlers[method] as (params: unknown, scope: RouteScope) => Immediate | Work
  const planned = handle(readParams(method, params), scope)
  // what is written out already was written for this revision
  return 'text' in planned || scope.dialect.lacks === undefined ? planned : fitted(planned, method, scope)
}

function fitted<M extends Method>(work: Work, method: M, { dialect }: RouteScope): Work {
  return {
    ...work,
    run: async (ctx) => fitResult(dialect, method, (await work.run(ctx)) as Result<M>),
  }
}

function unknownMethod(method: string): McpError {
  return new McpError(errorCodes.methodNotFound, `Method not found: ${method.slice(0, 100)}`)
}

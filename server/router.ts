import { missingCapability } from '../protocol/capabilities.js'
import { acceptsRequest, type Dialect } from '../protocol/dialect.js'
import { errorCodes, McpError } from '../protocol/errors.js'
import type { JsonRpcRequest } from '../protocol/jsonrpc.js'
import type { Params, RequestTo } from '../protocol/methods.js'
import { readParams } from '../protocol/params.js'
import type { ServerCapabilities } from '../protocol/types/capabilities.js'
import type { Catalog } from './catalog.js'
import type { ToolContext } from './context.js'
import { ping } from './handlers/ping.js'
import { callTool, listTools } from './handlers/tools.js'

/** An answer that takes no work, with its JSON text. */
export interface Immediate {
  readonly result: object
  readonly text: string
}

/** Work of an author's code, to be run as a task. */
export interface Work {
  /** Shown in trees and reports. */
  readonly name: string
  /** Milliseconds; undefined: the server's own limit. */
  readonly timeout: number | undefined
  run(ctx: ToolContext): object | Promise<object>
  /** The result when the time was up. */
  timedOut(ms: number): object
}

/** What handlers may look at besides the params: nothing of a connection. */
export interface RouteScope {
  readonly dialect: Dialect
  readonly capabilities: ServerCapabilities
  readonly catalog: Catalog
}

type Served = Exclude<RequestTo<'server'>, 'initialize'>

const handlers: { readonly [M in Served]: (params: Params<M>, scope: RouteScope) => Immediate | Work } = {
  ping,
  'tools/list': listTools,
  'tools/call': callTool,
}

/**
 * What is to be done about a request. Throws McpError: -32601 for a method that the revision or the server does not have, -32602
 * for bad params, -32600 for a second `initialize`.
 */
export function route({ method, params }: JsonRpcRequest, scope: RouteScope): Immediate | Work {
  if (!acceptsRequest(scope.dialect, 'server', method)) throw unknownMethod(method)
  if (method === 'initialize')
    throw new McpError(errorCodes.invalidRequest, 'this session is initialized already')
  const missing = missingCapability(method, scope.capabilities)
  if (missing !== undefined) throw unknownMethod(method)
  const handle = handlers[method] as (params: unknown, scope: RouteScope) => Immediate | Work
  return handle(readParams(method, params), scope)
}

/** What the server offers; tools can be added while it runs. */
export const serverCapabilities: ServerCapabilities = Object.freeze({
  tools: Object.freeze({ listChanged: true }),
})

function unknownMethod(method: string): McpError {
  return new McpError(errorCodes.methodNotFound, `Method not found: ${method.slice(0, 100)}`)
}

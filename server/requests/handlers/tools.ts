import { isObject } from '../../../protocol/wire/json.js'
import type { Params } from '../../../protocol/messages/methods.js'
import { checkParamHeaders } from '../../../protocol/stateless/headers.js'
import type { Parsed } from '../../../protocol/schema/schema.js'
import type { CallToolResult } from '../../../protocol/messages/tools.js'
import { messageOf, show } from '../../../runtime/base/errors.js'
import { isPromise } from '../../../runtime/base/promise.js'
import type { ExchangeCall } from '../../../transports/inbound/exchange-call.js'
import { checkAllowed } from '../../context/scopes.js'
import { unknown } from './unknown.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { ToolContext } from '../../context/context.js'
import type { ToolDefinition } from '../../definitions/define-tool.js'
import { AskError, isOutsideRoots, isTold } from '../../base/errors.js'
import { requirementError } from '../question.js'
import { checkUsable } from '../../definitions/session-needs.js'
import {
  badArguments,
  toolCrash,
  toolFailure,
  toStructuredResult,
  toToolResult,
} from '../../results/results.js'
import { noAnswerFrom, type RouteScope, type Work } from '../work.js'

export { toolCrash }

/** Plans `tools/call`. Throws McpError -32602 for an unknown tool, and 403 for a missing scope. */
export function callTool(params: Params<'tools/call'>, { catalog, peer, dialect }: RouteScope): Work {
  const { name, arguments: args = {} } = params
  const tool = catalog.tools.get(name)
  const absent = () => catalog.absent(name, peer) ?? unknown('tool', name, catalog.tools, peer)
  if (tool === undefined) throw absent()
  checkAllowed(peer, tool, absent)
  checkUsable(dialect, tool, `tool ${show(name)}`)
  const { relayed } = tool
  return {
    name: `tools/call ${name}`,
    timeout: tool.timeout,
    run: (ctx) => (relayed === undefined ? runTool(tool, args, ctx, catalog) : relayed.run(params, ctx)),
    timedOut: (ms) =>
      relayed === undefined
        ? toolFailure(`The tool ${name} took longer than ${ms} ms and was stopped.`)
        : noAnswerFrom(relayed, ms),
    // what a gateway does wrong is no fault of the tool
    ...(relayed === undefined && { crashed: toolCrash }),
  }
}

/** Runs what a tool does before its call becomes a task; the result of a call that does not become one. */
export async function prepareTool(
  { name, schema, prepare }: ToolDefinition,
  args: unknown,
  ctx: ToolContext,
): Promise<CallToolResult | undefined> {
  if (prepare === undefined) return undefined
  const parsed = await schema.parse(args)
  if ('issues' in parsed) return badArguments(name, parsed.issues)
  try {
    await prepare(parsed.value as never, ctx)
    return undefined
  } catch (error) {
    return toFailure(error)
  }
}

/** Checks `Mcp-Param-*` headers against the arguments (specification: 2026-07-28). Throws McpError -32020. */
export function checkArguments({ request: { params }, peer }: ExchangeCall, { tools }: Catalog): void {
  const tool = typeof params?.name === 'string' ? tools.get(params.name) : undefined
  if (tool === undefined || tool.headers.length === 0) return
  checkParamHeaders(tool.headers, isObject(params?.arguments) ? params.arguments : undefined, peer.headers)
}

/** Without a promise where schema and tool need none: it would cost more than most tools. */
function runTool(
  tool: ToolDefinition,
  args: unknown,
  ctx: ToolContext,
  catalog: Catalog,
): CallToolResult | Promise<CallToolResult> {
  const parsed = tool.schema.parse(args)
  return parsed instanceof Promise
    ? parsed.then((late) => runParsed(tool, late, ctx, catalog))
    : runParsed(tool, parsed, ctx, catalog)
}

function runParsed(
  tool: ToolDefinition,
  parsed: Parsed<unknown>,
  ctx: ToolContext,
  catalog: Catalog,
): CallToolResult | Promise<CallToolResult> {
  if ('issues' in parsed) return badArguments(tool.name, parsed.issues)
  try {
    const returned = tool.run(parsed.value as never, ctx)
    if (!isPromise(returned)) return toResult(tool, returned, catalog)
    return Promise.resolve(returned).then((value) => toResult(tool, value, catalog), toFailure)
  } catch (error) {
    return toFailure(error)
  }
}

function toResult(
  tool: ToolDefinition,
  returned: unknown,
  catalog: Catalog,
): CallToolResult | Promise<CallToolResult> {
  const { name, output } = tool
  if (returned === undefined && output === undefined) catalog.noteSilent(name)
  return output === undefined ? toToolResult(name, returned) : toStructuredResult(name, output, returned)
}

/** The result for an error that the model may read; throws any other. */
function toFailure(error: unknown): CallToolResult {
  const refusal = error instanceof AskError ? requirementError(error) : undefined
  if (refusal !== undefined) throw refusal
  if (isTold(error) || isOutsideRoots(error)) return toolFailure(messageOf(error))
  throw error
}

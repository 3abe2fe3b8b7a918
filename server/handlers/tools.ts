import { errorCodes, McpError } from '../../protocol/errors.js'
import type { Params } from '../../protocol/methods.js'
import type { CallToolResult } from '../../protocol/types/tools.js'
import { show } from '../../runtime/errors.js'
import type { ToolContext } from '../context.js'
import type { ToolDefinition } from '../define-tool.js'
import { AskError, ToolError } from '../errors.js'
import { badArguments, toolFailure, toToolResult } from '../results.js'
import type { Immediate, RouteScope, Work } from '../work.js'

/** Answers `tools/list` with bytes that are made once (specification: tools). */
export function listTools({ cursor }: Params<'tools/list'>, { catalog, dialect }: RouteScope): Immediate {
  return catalog.tools.page(cursor, dialect)
}

/** Plans `tools/call`. Throws McpError -32602 for a tool that does not exist. */
export function callTool(
  { name, arguments: args = {} }: Params<'tools/call'>,
  { catalog }: RouteScope,
): Work {
  const tool = catalog.tools.get(name)
  if (tool === undefined) throw new McpError(errorCodes.invalidParams, `Unknown tool: ${show(name)}`)
  return {
    name: `tools/call ${name}`,
    timeout: tool.timeout,
    run: (ctx) => runTool(tool, args, ctx),
    timedOut: (ms) => toolFailure(`The tool ${name} took longer than ${ms} ms and was stopped.`),
  }
}

async function runTool(tool: ToolDefinition, args: unknown, ctx: ToolContext): Promise<CallToolResult> {
  const parsing = tool.schema.parse(args)
  const parsed = parsing instanceof Promise ? await parsing : parsing
  if ('issues' in parsed) return badArguments(tool.name, parsed.issues)
  try {
    return toToolResult(tool.name, await tool.run(parsed.value as never, ctx))
  } catch (error) {
    if (error instanceof ToolError || error instanceof AskError) return toolFailure(error.message)
    throw error
  }
}

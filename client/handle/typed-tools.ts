import type { ServerTypes, ToolTypes, TypesOf } from '../../protocol/messages/server-types.js'
import type { Tool } from '../../protocol/messages/tools.js'
import type { ToolCallOptions } from '../options/call-options.js'
import type { PagesOptions } from '../requests/pages.js'
import type { ToolResult } from '../requests/results.js'

/** The tools of a server by name, each a function: `client.tools.divide({ a: 1, b: 2 })`. */
export type TypedTools<Served> = ToolsOf<TypesOf<Served>>

type ToolsOf<Types extends ServerTypes> = {
  readonly [Name in keyof Types['tools']]: TypedCall<Types['tools'][Name]>
}

/** Calls a tool, as `callTool` does. Arguments may be left out where all of them may. */
export type TypedCall<Types extends ToolTypes> = Bivariant<
  Record<never, never> extends Types['input']
    ? [args?: Types['input'], options?: ToolCallOptions]
    : [args: Types['input'], options?: ToolCallOptions],
  Promise<TypedToolResult<Types['output']>>
>

/** The result of a tool whose `output` is known; an error (`isError`) has no structured content. */
export type TypedToolResult<Output> = unknown extends Output
  ? ToolResult
  : Output extends undefined
    ? ToolResult
    : ToolResult & { readonly structuredContent?: Output }

/** A client that knows more is one that knows less: parameters of methods are compared both ways. */
type Bivariant<Args extends readonly unknown[], Answer> = { call(...args: Args): Answer }['call']

/** All tools of a server, one after the other. */
export type AllTools = (options?: PagesOptions) => AsyncGenerator<Tool, void, undefined>

interface Callers {
  call(name: string, args?: Record<string, unknown>, options?: ToolCallOptions): Promise<ToolResult>
  readonly all: AllTools
}

/** Any name is that of a tool, but `then`: this is no promise. */
export function typedTools<Tools>({ call, all }: Callers): Tools {
  type Args = Record<string, unknown>
  return new Proxy(all, {
    get: (_target, name) =>
      typeof name === 'symbol' || name === 'then'
        ? undefined
        : (args?: Args, options?: ToolCallOptions) => call(name, args, options),
  }) as Tools
}

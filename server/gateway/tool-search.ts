import { McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import type { UpstreamComponents } from '../catalog/catalog.js'
import { callerOf } from '../../transports/contract/caller.js'
import { isAllowed } from '../context/scopes.js'
import type { ToolContext } from '../context/context.js'
import { defineTool, type ToolDefinition } from '../definitions/define-tool.js'
import type { Rota } from '../../runtime/tasks/rota.js'
import type { Clock } from '../../runtime/time/clock.js'
import { anybody } from '../../transports/base/network.js'
import { loadSearchEngine, type Searchable, ToolIndex } from './tool-index.js'

const most = 50
/** Characters of what is told at once; a tool that alone has more is told by its name. */
const maxText = 100_000
const usual = 10
/** Ms that an index may take to be made anew with each change; a longer one is left so many times as long. */
const quick = 100
const restFactor = 4

/**
 * The two tools that stand for all: `tools` answers those that are not listed, as they are now; `wake`
 * resolves when there are all, and `absent` says why one may come yet.
 */
export function searchTools(
  tools: () => readonly ToolDefinition[],
  { wake, absent }: Pick<UpstreamComponents, 'wake' | 'absent'>,
  rota: Rota,
  clock: Pick<Clock, 'now'>,
): readonly ToolDefinition[] {
  let latest: { readonly of: unknown; readonly index: ToolIndex; readonly until: number } | undefined
  let making: Promise<void> | undefined
  const make = async (): Promise<void> => {
    const of = tools()
    const began = clock.now()
    const index = await ToolIndex.of(await loadSearchEngine(), of.map(entryOf), () => rota.next(anybody))
    const took = clock.now() - began
    latest = { of, index, until: took < quick ? 0 : clock.now() + restFactor * took }
  }
  /** That of the tools there are; after one that took long, for a while that of before. */
  const index = async (): Promise<ToolIndex> => {
    for (let tries = 0; ; tries += 1) {
      const isGood = latest !== undefined && (latest.of === tools() || clock.now() < latest.until)
      // tools that change all the time
      if (latest !== undefined && (isGood || tries === 2)) return latest.index
      making ??= make().finally(() => {
        making = undefined
      })
      await making
    }
  }
  const seen = (ctx: ToolContext): Map<string, ToolDefinition> =>
    new Map(tools().flatMap((tool) => (isAllowed(ctx.peer, tool) ? [[tool.name, tool]] : [])))
  const search = defineTool({
    name: 'search_tools',
    description:
      'Finds tools by words of their names and descriptions. Call what it finds with call_tool: its inputSchema says which arguments it takes.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What the tool should do.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: most,
          description: `How many to tell. Default ${usual}.`,
        },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
    async run({ query, limit = usual }, ctx) {
      await wake()
      const words = await index()
      const turn = async (): Promise<void> => {
        await rota.next(callerOf(ctx.peer, ctx.session.id))
        ctx.signal.throwIfAborted()
      }
      const all = await words.search(query, Number.POSITIVE_INFINITY, turn)
      const visible = seen(ctx)
      // some that fit may be for others
      const names = all.filter((name) => visible.has(name))
      const entries = names.flatMap((name): JsonObject[] => {
        const { relayed } = visible.get(name) ?? {}
        return relayed === undefined ? [] : [relayed.entry]
      })
      const found = fitting(entries.slice(0, limit))
      const more = entries.length - found.length
      const hint = more === 0 ? {} : { more, hint: 'More tools fit: use other words, or a higher limit.' }
      return `{"tools":[${found.join(',')}],${JSON.stringify({ of: visible.size, ...hint }).slice(1)}`
    },
  })
  const call = defineTool({
    name: 'call_tool',
    description: 'Calls a tool that search_tools has found.',
    input: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool.' },
        arguments: { type: 'object', description: 'Its arguments, as its inputSchema wants them.' },
      },
      required: ['name'],
    },
    run: () => undefined,
  })
  return [
    search,
    {
      ...call,
      relayed: {
        server: undefined,
        own: call.name,
        entry: listed(call),
        async run(params, ctx) {
          await wake()
          return await relayTo({ tools: seen(ctx), absent }, params, ctx)
        },
      },
    },
  ]
}

async function relayTo(
  { tools, absent }: { tools: ReadonlyMap<string, ToolDefinition>; absent: UpstreamComponents['absent'] },
  params: object,
  ctx: ToolContext,
): Promise<JsonObject> {
  const { arguments: given } = params as { readonly arguments?: unknown }
  const { name, arguments: args = {} } = isObject(given) ? given : {}
  const tool = typeof name === 'string' ? tools.get(name) : undefined
  if (tool?.relayed === undefined) {
    const late = typeof name === 'string' ? absent(name, ctx.peer) : undefined
    throw late ?? McpError.invalidParams(`Unknown tool: ${show(name)}: find one with search_tools`)
  }
  if (!isObject(args)) throw McpError.invalidParams(`arguments of ${show(name)}: expected an object`)
  return tool.relayed.run({ ...params, name, arguments: args }, ctx)
}

/** The texts of the first ones, as far as there is room. */
function fitting(entries: readonly JsonObject[]): readonly string[] {
  const texts: string[] = []
  let room = maxText
  for (const entry of entries) {
    const whole = JSON.stringify(entry)
    const text = whole.length <= maxText ? whole : JSON.stringify({ name: entry.name })
    room -= text.length
    if (room < 0) break
    texts.push(text)
  }
  return texts
}

function listed({ name, description, schema }: ToolDefinition): JsonObject {
  return { name, description, inputSchema: schema.jsonSchema }
}

function entryOf({ name, relayed }: ToolDefinition): Searchable {
  const { title, description, inputSchema } = relayed?.entry ?? {}
  return {
    name,
    server: relayed?.server,
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
  }
}

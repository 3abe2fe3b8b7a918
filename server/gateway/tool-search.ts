import { McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import type { UpstreamComponents } from '../catalog/catalog.js'
import { callerOf } from '../../transports/contract/caller.js'
import { isAllowed } from '../context/scopes.js'
import type { ToolContext } from '../context/context.js'
import { defineTool, type ToolDefinition } from '../definitions/define-tool.js'
import type { Rota } from '../../runtime/tasks/rota.js'
import { loadSearchEngine, type Searchable, ToolIndex } from './tool-index.js'

const most = 50
/** Characters of what is told at once; a tool that alone has more is told by its name. */
const maxText = 100_000
const usual = 10

/**
 * The two tools that stand for all: `tools` answers those that are not listed, as they are now; `wake`
 * resolves when there are all, and `absent` says why one may come yet.
 */
export function searchTools(
  tools: () => readonly ToolDefinition[],
  { wake, absent }: Pick<UpstreamComponents, 'wake' | 'absent'>,
  rota: Rota,
): readonly ToolDefinition[] {
  const memory: { of?: readonly ToolDefinition[]; index?: Promise<ToolIndex> } = {}
  const index = async (): Promise<ToolIndex> => {
    const engine = await loadSearchEngine()
    const now = tools()
    if (memory.index === undefined || memory.of !== now) {
      memory.of = now
      memory.index = ToolIndex.of(engine, now.map(entryOf))
    }
    return memory.index
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
      await rota.next(callerOf(ctx.peer, ctx.session.id))
      ctx.signal.throwIfAborted()
      const visible = seen(ctx)
      // some that fit may be for others
      const names = words.search(query, tools().length).filter((name) => visible.has(name))
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
    const late = typeof name === 'string' ? absent(name) : undefined
    throw late ?? McpError.invalidParams(`Unknown tool: ${show(name)}: find one with search_tools`)
  }
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
    title: typeof title === 'string' ? title : undefined,
    description: typeof description === 'string' ? description : undefined,
    inputSchema,
  }
}

import type { Tool } from '../../protocol/messages/tools.js'
import { bad } from '../base/read-options.js'
import { Clients } from '../fleet/clients.js'
import { Client } from '../handle/client.js'
import type { ToolCallOptions } from '../options/call-options.js'
import type { ToolResult } from '../requests/results.js'

/** Where the tools of a model come from: one server, or several by name. */
export type ToolSource = Client | Clients | Readonly<Record<string, Client>>

/** Which tools a model gets, and how long they may take. */
export interface ModelToolsOptions extends Pick<ToolCallOptions, 'timeout' | 'retry'> {
  /** Takes a tool in, or leaves it out; `server` is undefined for one client. Default: all. */
  filter?(tool: Tool, server: string | undefined): boolean
  /**
   * Hears of a server that is not ready, or whose tools cannot be listed: its tools are left out, and nobody
   * waits for it. Default: all servers are waited for, and one that fails makes the whole reject.
   */
  onMissing?(server: string | undefined, error: unknown): void
}

/** A tool of a server, under a name that models take. */
export interface ModelTool {
  readonly name: string
  readonly tool: Tool
  call(args: unknown, signal?: AbortSignal): Promise<ToolResult>
}

type Named = readonly [server: string | undefined, client: Client]

interface Listed {
  readonly server: string | undefined
  readonly client: Client
  readonly tool: Tool
}

/** What models take: letters, digits, `_` and `-`, at most 64. */
const longest = 64

/**
 * All tools of the source now, named `server__tool` where there are several servers. Throws BAD_OPTION;
 * rejects as `listTools`.
 */
export async function gatherTools(
  source: ToolSource,
  { filter, onMissing, ...how }: ModelToolsOptions = {},
): Promise<readonly ModelTool[]> {
  const listOf = async ([server, client]: Named): Promise<readonly Listed[]> => {
    const all: Listed[] = []
    for await (const tool of client.tools({ wait: onMissing === undefined }))
      if (filter === undefined || filter(tool, server)) all.push({ server, client, tool })
    return all
  }
  const lists = await Promise.all(
    serversOf(source).map((named) => {
      if (onMissing === undefined) return listOf(named)
      return listOf(named).catch((error: unknown) => {
        onMissing(named[0], error)
        return []
      })
    }),
  )
  const taken = new Set<string>()
  return lists.flat().map(({ server, client, tool }) => {
    const name = nameFor(server === undefined ? tool.name : `${server}__${tool.name}`, taken)
    const call = (args: unknown, signal?: AbortSignal): Promise<ToolResult> =>
      client.callTool(tool.name, (args ?? {}) as Record<string, unknown>, {
        ...how,
        ...(signal !== undefined && { signal }),
      })
    return { name, tool, call }
  })
}

function serversOf(source: ToolSource): readonly Named[] {
  if (source instanceof Client) return [[undefined, source]]
  if (source instanceof Clients) return [...source]
  const entries = Object.entries(source ?? {})
  if (entries.length > 0 && entries.every(([, client]) => client instanceof Client)) return entries
  throw bad('source', 'a client, what startClients returns, or clients by name', source)
}

function nameFor(whole: string, taken: Set<string>): string {
  const clean = whole.replaceAll(/[^\w-]/g, '_')
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? '' : `_${number}`
    const name = `${clean.slice(0, longest - ending.length)}${ending}`
    if (taken.has(name)) continue
    taken.add(name)
    return name
  }
}

/** The words of a result for a model, also of what is no text. */
export function wordsOf({ content, structuredContent }: ToolResult): string {
  const words = content.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'resource' && 'text' in part.resource) return String(part.resource.text)
    if (part.type === 'resource_link') return part.uri
    return `(${part.type})`
  })
  return words.length === 0 && structuredContent !== undefined
    ? JSON.stringify(structuredContent)
    : words.join('\n')
}

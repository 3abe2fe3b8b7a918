import { cut } from '../../runtime/base/cut.js'
import { messageOf } from '../../runtime/base/errors.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Upstream, UpstreamLists } from '../definitions/upstreams.js'

/** Entries of one list of one server; what is beyond is left out. */
const maxEntries = 10_000
const maxPages = 1_000
/** Entries left out that are told of, and characters of what is told of each. */
const maxTold = 5
const maxCharacters = 300
/** Of all lists of one server, as JSON: a message has a limit, and a list may have any number of them. */
const maxBytes = 16 * 1024 * 1024

/** Lists that are not taken: what a server had before stays. */
export class ListsTooLong extends Error {
  constructor() {
    super(`its lists have more than ${maxBytes} bytes`)
  }
}

/** All that a server offers, and what is wrong with entries that are left out. */
export interface Fetched {
  readonly lists: UpstreamLists
  /** Empty: nothing. */
  readonly leftOut: string
  /** Which lists could not be had, and are as they were; empty: all are here. */
  readonly problem: string
}

/**
 * One list that a server cannot give costs none of the others. Rejects where it gives none, with ListsTooLong,
 * and where its tools have failed and were never known: they are not to be called unknown.
 */
export async function fetchLists(
  client: Upstream,
  signal: AbortSignal,
  former?: UpstreamLists,
): Promise<Fetched> {
  const left: string[] = []
  let leftCount = 0
  const onBadEntry = (problem: string): void => {
    leftCount += 1
    if (left.length < maxTold) left.push(toldOf(problem))
  }
  const { tools, resources, prompts } = client.server?.capabilities ?? {}
  let bytes = 0
  const fetch = async (method: string, field: string): Promise<JsonObject[]> => {
    const all: JsonObject[] = []
    const seen = new Set<unknown>()
    let cursor: unknown
    do {
      seen.add(cursor)
      const page = (await client.request(method, cursor === undefined ? {} : { cursor }, {
        signal,
        fresh: true,
        onBadEntry,
      })) as JsonObject
      bytes += Buffer.byteLength(JSON.stringify(page))
      if (bytes > maxBytes) throw new ListsTooLong()
      const entries = page[field]
      if (Array.isArray(entries))
        for (const entry of entries.slice(0, maxEntries - all.length)) if (isObject(entry)) all.push(entry)
      cursor = page.nextCursor
      // a list may have no end
    } while (cursor !== undefined && !seen.has(cursor) && seen.size < maxPages && all.length < maxEntries)
    return all
  }
  const failed: { readonly method: string; readonly error: unknown }[] = []
  let refused: unknown
  let given = 0
  const listOr = async (
    method: string,
    field: string,
    before: readonly JsonObject[] | undefined,
  ): Promise<readonly JsonObject[]> => {
    try {
      const list = await fetch(method, field)
      given += 1
      return list
    } catch (error) {
      if (error instanceof ListsTooLong) throw error
      refused ??= error
      if (isUnknownMethod(error)) {
        // older servers have resources, and do not know templates
        if (method !== 'resources/templates/list') onBadEntry(`${method}: ${messageOf(error)}`)
        return []
      }
      if (method === 'tools/list' && before === undefined) throw error
      // nor do all of those say so by the code for it
      if (method !== 'resources/templates/list') failed.push({ method, error })
      return before ?? []
    }
  }
  const [some, others, templates, last] = await Promise.all([
    tools === undefined ? [] : listOr('tools/list', 'tools', former?.tools),
    resources === undefined ? [] : listOr('resources/list', 'resources', former?.resources),
    resources === undefined ? [] : listOr('resources/templates/list', 'resourceTemplates', former?.templates),
    prompts === undefined ? [] : listOr('prompts/list', 'prompts', former?.prompts),
  ])
  if (given === 0 && refused !== undefined) throw refused
  const more = leftCount > left.length ? [`${leftCount - left.length} more`] : []
  const lists = { tools: some, resources: others, templates, prompts: last }
  const problem = failed.map(({ method, error }) => `${method}: ${toldOf(messageOf(error))}`).join('; ')
  return { lists, leftOut: [...left, ...more].join('; '), problem }
}

function isUnknownMethod(error: unknown): boolean {
  return error instanceof McpError && error.code === errorCodes.methodNotFound
}

/** Why lists could not be had, for whoever runs the gateway. */
export function whyNot(error: unknown): string {
  return error instanceof ListsTooLong
    ? error.message
    : `its lists could not be had: ${toldOf(messageOf(error))}`
}

/** The far side's words, short, and without what steers a terminal or hides. */
function toldOf(text: string): string {
  const some = text.length > maxCharacters ? `${cut(text, maxCharacters)}...` : text
  return some.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')
}

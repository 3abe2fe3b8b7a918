import { partsOf } from '../../protocol/wire/codec.js'
import { cut } from '../../runtime/base/cut.js'
import { messageOf } from '../../runtime/base/errors.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { gatewaysIn, mostGateways, withGateways, withoutGateways } from '../catalog/gateways.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { Upstream, UpstreamLists } from '../definitions/upstreams.js'

/** Entries of one list of one server; what is beyond is left out. Each template is tried with each address. */
const maxEntries = 10_000
const maxTemplates = 1_000
/** Characters of one entry, as JSON, values and names in it: the others stand in the same message. */
const maxEntryText = 1024 * 1024
const maxEntryValues = 100_000
const maxEntryNames = 40_000
const maxPages = 1_000
/** Entries left out that are told of, and characters of what is told of each. */
const maxTold = 5
const maxCharacters = 300
/** Of all lists of one server, as JSON: what clients take of a list (ours 16 MiB) is for several servers. */
const maxBytes = 4 * 1024 * 1024

/** Milliseconds that the lists of a server are waited for together; then those that are here are used. */
const patience = 5_000
/** The same of a server that has let some be waited for in vain. */
const lessPatience = 500

/** A list of what a server has, by what `UpstreamLists` calls it. */
export type ListName = Exclude<keyof UpstreamLists, 'toolsKnown' | 'templatesKnown' | 'through'>

/** What a server says it has, the request for it, where it stands in the answer, and what names an entry. */
const requests = {
  tools: ['tools', 'tools/list', 'tools', 'name'],
  resources: ['resources', 'resources/list', 'resources', 'uri'],
  templates: ['resources', 'resources/templates/list', 'resourceTemplates', 'uriTemplate'],
  prompts: ['prompts', 'prompts/list', 'prompts', 'name'],
} as const satisfies Readonly<Record<ListName, readonly [string, string, string, string]>>

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
  /** Whether none of them is waited for. */
  readonly isWhole: boolean
}

export interface FetchOptions {
  /** The gateway that asks, if it is one. */
  readonly gateway?: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** What is known of them already. */
  readonly former?: UpstreamLists | undefined
  /** Whether it matters that its templates are known. */
  readonly needsTemplates: boolean
  /** Whether some of them did not come the last time: then the others are waited for less. */
  readonly isSlow?: boolean
  /** Hears, once, of those that are here when others let themselves be waited for. */
  readonly onSome: (fetched: Fetched) => void
}

/**
 * One list that a server cannot give, or is slow to give, costs none of the others. Rejects where it gives
 * none, and with ListsTooLong.
 */
export async function fetchLists(
  client: Upstream,
  { gateway, signal, clock, former, needsTemplates, isSlow = false, onSome }: FetchOptions,
): Promise<Fetched> {
  const left: string[] = []
  let leftCount = 0
  const onBadEntry = (problem: string): void => {
    leftCount += 1
    if (left.length < maxTold) left.push(toldOf(problem))
  }
  const cuts: string[] = []
  /** Whether there are templates that are left out: nobody knows what they are of. */
  let areCut = false
  /** Lists that the server has told, or has said that it knows none. */
  const told = new Set<ListName>()
  let bytes = 0
  const through = new Map<string, readonly string[]>(Object.entries(former?.through ?? {}))
  const fetch = async (name: ListName): Promise<JsonObject[]> => {
    const [, method, field, key] = requests[name]
    const all: JsonObject[] = []
    let own = 0
    const ways = new Map<string, readonly string[]>()
    const add = (entry: JsonObject): void => {
      const way = gatewaysIn(entry)
      // all that is here would be there, and here again, under longer and longer names
      if (gateway !== undefined && (way.includes(gateway) || way.length >= mostGateways)) own += 1
      else {
        all.push(withoutGateways(entry))
        if (way.length > 0) ways.set(placeIn(name, String(entry[key])), way)
      }
    }
    const most = name === 'templates' ? maxTemplates : maxEntries
    const seen = new Set<unknown>()
    let cursor: unknown
    let isMore = false
    do {
      seen.add(cursor)
      const place = cursor === undefined ? {} : { cursor }
      const params = gateway === undefined ? place : withGateways(place, [gateway])
      const page = (await client.request(method, params, { signal, fresh: true, onBadEntry })) as JsonObject
      const text = JSON.stringify(page)
      bytes += Buffer.byteLength(text)
      if (bytes > maxBytes) throw new ListsTooLong()
      const listed: unknown[] = Array.isArray(page[field]) ? page[field] : []
      const entries = text.length > maxEntryNames ? withoutLong(listed, method, onBadEntry) : listed
      const room = most - all.length
      for (const entry of entries.slice(0, room)) if (isObject(entry)) add(entry)
      cursor = page.nextCursor
      isMore = entries.length > room || (cursor !== undefined && !seen.has(cursor))
      // a list may have no end
    } while (isMore && seen.size < maxPages && all.length < most)
    if (isMore) cuts.push(`${method}: all after ${all.length} entries in ${seen.size} pages`)
    if (name === 'templates') areCut = isMore
    for (const place of through.keys()) if (place.startsWith(placeIn(name, ''))) through.delete(place)
    for (const [place, way] of ways) through.set(place, way)
    if (own > 0) cuts.push(`${method}: ${own} entries of this gateway itself, which is behind this server`)
    return all
  }
  const { capabilities = {} } = client.server ?? {}
  const asked = (Object.keys(requests) as ListName[]).filter(
    (name) => capabilities[requests[name][0]] !== undefined,
  )
  const came = new Map<ListName, readonly JsonObject[]>()
  const waited = isSlow ? lessPatience : patience
  const failed: string[] = []
  let refused: unknown
  let given = 0
  const take = async (name: ListName): Promise<void> => {
    const before = former?.[name]
    const method = requests[name][1]
    try {
      came.set(name, await fetch(name))
      given += 1
      told.add(name)
    } catch (error) {
      if (error instanceof ListsTooLong) throw error
      refused ??= error
      if (isUnknownMethod(error)) {
        // older servers have resources, and do not know templates
        told.add(name)
        if (name !== 'templates') onBadEntry(`${method}: ${messageOf(error)}`)
        came.set(name, [])
        return
      }
      // nor do all of those say so by the code for it
      if (name !== 'templates' || needsTemplates) failed.push(`${method}: ${toldOf(messageOf(error))}`)
      came.set(name, before ?? [])
    }
  }
  const fetched = (): Fetched => {
    const listOf = (name: ListName): readonly JsonObject[] =>
      came.get(name) ?? (asked.includes(name) ? former?.[name] : undefined) ?? []
    const late = asked.filter((name) => !came.has(name))
    const waits = late.map((name) => `${requests[name][1]}: no answer yet, it is waited for`)
    const more = leftCount > left.length ? [`${leftCount - left.length} more`] : []
    const [tools, resources] = [listOf('tools'), listOf('resources')]
    const isKnown = (name: ListName, before: boolean | undefined): boolean =>
      told.has(name) || !asked.includes(name) || before === true
    const toolsKnown = isKnown('tools', former?.toolsKnown)
    const templatesKnown = !areCut && isKnown('templates', former?.templatesKnown)
    return {
      lists: {
        ...{ tools, resources, templates: listOf('templates'), prompts: listOf('prompts') },
        ...{ toolsKnown, templatesKnown },
        ...(through.size > 0 && { through: Object.fromEntries(through) }),
      },
      leftOut: [...cuts, ...left, ...more].join('; '),
      problem: [...failed, ...waits].join('; '),
      isWhole: late.length === 0,
    }
  }
  const timer = clock.setTimeout(() => {
    if (given > 0) onSome(fetched())
  }, waited)
  try {
    await Promise.all(asked.map(take))
  } finally {
    clock.clearTimeout(timer)
  }
  if (given === 0 && refused !== undefined) throw refused
  return fetched()
}

/** Where it says which gateways an entry came through. */
export function placeIn(list: ListName, own: string): string {
  return `${list} ${own}`
}

function withoutLong(
  entries: readonly unknown[],
  method: string,
  tell: (problem: string) => void,
): unknown[] {
  return entries.filter((entry, at) => {
    const text = JSON.stringify(entry)
    if (text.length <= maxEntryNames) return true
    const { values, names } = partsOf(text)
    const isLong = text.length > maxEntryText || values > maxEntryValues || names > maxEntryNames
    if (isLong)
      tell(`${method}: entry ${at} of a page has ${text.length} characters, ${values} values, ${names} names`)
    return !isLong
  })
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

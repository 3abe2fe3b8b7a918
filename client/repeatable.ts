import type { Job } from './job.js'
import type { ToolBook } from './tool-book.js'

/** Methods that change nothing, or nothing more when they come a second time. */
const harmless: ReadonlySet<string> = new Set([
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

/** How often a call is made again that servers refused for its session: one that always does so is not asked for ever. */
const maxRefusals = 3

/**
 * Whether a call whose answer got lost is made again by itself, which happens once: if it changes nothing, if the tool is listed as read-only or idempotent, or
 * if its caller said that it may be made twice.
 */
export function isRepeatable({ method, params, repeated, retry }: Job, tools: ToolBook): boolean {
  if (repeated || retry === 'never') return false
  if (retry === 'safe') return true
  if (method !== 'tools/call') return harmless.has(method)
  return typeof params?.name === 'string' && tools.isIdempotent(params.name)
}

/**
 * Whether a call that a server refused because it does not know the session is made again in the next one. It was not acted on (specification: transports,
 * session management), so that goes for every call.
 */
export function isRenewable({ refusals, retry }: Job): boolean {
  return retry !== 'never' && refusals < maxRefusals
}

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

/**
 * Whether a call is made again by itself, which happens once. After the server forgot the session: if it changes nothing, or the tool is listed as
 * read-only or idempotent. After any other loss only if its caller said that it may be made twice.
 */
export function isRepeatable(
  { method, params, repeated, retry }: Job,
  sessionGone: boolean,
  tools: ToolBook,
): boolean {
  if (repeated || retry === 'never') return false
  if (retry === 'safe') return true
  if (!sessionGone) return false
  if (method !== 'tools/call') return harmless.has(method)
  return typeof params?.name === 'string' && tools.isIdempotent(params.name)
}

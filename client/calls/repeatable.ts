import type { Job } from './job.js'
import type { ToolBook } from '../holdings/tool-book.js'

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
 * How often a call is made again that servers refused for its session: one that always does so is not asked
 * for ever.
 */
const maxRefusals = 3

/**
 * Whether a call whose answer got lost is made again by itself, which happens once: if it changes nothing, if
 * the tool is listed as read-only or idempotent, or if its caller said that it may be made twice.
 */
export function isRepeatable(job: Job, tools: ToolBook): boolean {
  const { repeated, retry } = job
  // a policy is its caller's to follow
  if (repeated || retry === 'never' || typeof retry === 'object') return false
  return retry === 'safe' || isHarmless(job, tools)
}

/** Whether a call changes nothing, or nothing more when it comes a second time, as far as the server says. */
export function isHarmless({ method, params }: Pick<Job, 'method' | 'params'>, tools: ToolBook): boolean {
  if (method !== 'tools/call') return harmless.has(method)
  return typeof params?.name === 'string' && tools.isIdempotent(params.name)
}

/**
 * Whether a call that a server refused because it does not know the session is made again in the next one. It
 * was not acted on (specification: transports, session management), so that goes for every call.
 */
export function isRenewable({ refusals, retry }: Job): boolean {
  return retry !== 'never' && refusals < maxRefusals
}

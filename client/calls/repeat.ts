import { CaduceusError } from '../../runtime/base/errors.js'
import type { BackoffOptions } from '../base/backoff.js'
import { type ClientErrorCode, sentBefore } from '../base/errors.js'
import { bad } from '../base/read-options.js'
import { invitationIn, type RetryBudget } from '../holdings/retry-budget.js'
import type { ToolBook } from '../holdings/tool-book.js'
import type { RetryPolicy } from '../options/retry.js'
import { isSent, type Job } from './job.js'

/** Methods that change nothing, or nothing more when they are called a second time. */
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

/** New sessions that a call is made again in; a server that refuses every session is not asked for ever. */
const maxRefusals = 3

/** Errors that no retry policy repeats: the time is over, or the caller does not want to wait. */
const final: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>(['TIMEOUT', 'NOT_READY'])

/**
 * Whether a call whose answer got lost is made again without its caller, which happens once: it changes
 * nothing, or its caller said `safe`.
 */
export function isRepeatable(job: Job, tools: ToolBook): boolean {
  const { retry } = job.call
  // a policy is followed in the caller, by `retryDelay`
  if (job.repeated || retry === 'never' || typeof retry === 'object') return false
  return retry === 'safe' || isHarmless(job, tools)
}

/**
 * Whether a call that a server refused because it does not know the session is made again in the next one. It
 * was not acted on (specification: transports, session management), so that goes for every call.
 */
export function isRenewable({ refusals, call }: Job): boolean {
  return call.retry !== 'never' && refusals < maxRefusals
}

/** What `retryDelay` looks at besides the call. */
export interface RetryFacts {
  readonly backoff: Required<BackoffOptions>
  readonly tools: ToolBook
  readonly budget: RetryBudget | undefined
  /** By the clock of the client. */
  readonly now: number
}

/** Milliseconds until a call that failed is made again by its retry policy; undefined: it is not. */
export function retryDelay(
  job: Job,
  error: unknown,
  { backoff, tools, budget, now }: RetryFacts,
): number | undefined {
  const { retry } = job.call
  if (typeof retry !== 'object' || !(error instanceof CaduceusError) || !error.retryable) return undefined
  // a tool is forgotten with the session that listed it
  job.harmless ||= isHarmless(job, tools)
  const mayRepeat = retry.safe === true || job.harmless || !isSent(job)
  if (!mayRepeat || job.tries >= (retry.attempts ?? 1) || final.has(error.code as ClientErrorCode))
    return undefined
  const asked = invitationIn(error.cause, Date.now()) ?? 0
  const wait = Math.max(asked, pauseAfter(job.tries, retry, backoff))
  return now + wait >= job.deadline || budget?.take(now) === false ? undefined : wait
}

/**
 * Whether a call changes nothing, or nothing more when it is made a second time, as far as the server says.
 */
function isHarmless({ method, params }: Job, tools: ToolBook): boolean {
  if (method !== 'tools/call') return harmless.has(method)
  return typeof params?.name === 'string' && tools.isIdempotent(params.name)
}

function pauseAfter(attempt: number, { backoff }: RetryPolicy, usual: Required<BackoffOptions>): number {
  if (backoff === undefined) return usual.random() * Math.min(usual.cap, usual.base * 2 ** (attempt - 1))
  const ms: unknown = backoff(attempt)
  if (typeof ms === 'number' && ms >= 0) return ms
  throw sentBefore(bad('retry.backoff', 'a function that answers milliseconds, 0 or more', ms))
}

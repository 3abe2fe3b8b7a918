import { backoff } from '../../runtime/time/backoff.js'
import { CaduceusError } from '../../runtime/base/errors.js'
import type { World } from '../../runtime/time/world.js'
import { backoffIn, type BackoffOptions, type BackoffSettings } from '../base/backoff.js'
import { type ClientErrorCode, sentBefore } from '../base/errors.js'
import { bad } from '../base/read-options.js'
import { invitationIn, type RetryBudget } from '../holdings/retry-budget.js'
import type { ToolBook } from '../holdings/tool-book.js'
import type { RetryPolicy } from '../options/retry.js'
import { isSent, type Job } from './job.js'

/** Methods that may be called twice. */
const harmless: ReadonlySet<string> = new Set([
  'ping',
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'skills/list',
  'skills/get',
  'resources/directory/read',
  'completion/complete',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/update',
  'tasks/cancel',
])

/** Most new sessions of one call: a server may refuse every session. */
const maxRefusals = 3

/** Never repeated: the time is over, or the caller does not wait. */
const final: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>(['TIMEOUT', 'NOT_READY'])

/** Whether a call whose answer got lost is repeated, once: it is harmless, or `safe`. */
export function isRepeatable(job: Job, tools: ToolBook): boolean {
  const { retry } = job.call
  // a policy is followed in the caller, by `retryDelay`
  if (job.repeated || retry === 'never' || typeof retry === 'object') return false
  return retry === 'safe' || isHarmless(job, tools)
}

/** A call refused for its session was not acted on (specification: transports), so any may be made again. */
export function isRenewable({ refusals, call }: Job): boolean {
  return call.retry !== 'never' && refusals < maxRefusals
}

export interface RetryFacts {
  readonly backoff: BackoffSettings
  readonly tools: ToolBook
  readonly budget: RetryBudget | undefined
  readonly world: World
}

/** Undefined: its policy does not repeat it. */
export function retryDelay(
  job: Job,
  error: unknown,
  { backoff, tools, budget, world }: RetryFacts,
): number | undefined {
  const { retry } = job.call
  if (typeof retry !== 'object' || !(error instanceof CaduceusError) || !error.retryable) return undefined
  // a tool is forgotten with the session that listed it
  job.harmless ||= isHarmless(job, tools)
  const mayRepeat = retry.safe === true || job.harmless || !isSent(job)
  if (!mayRepeat || job.tries >= (retry.attempts ?? 1) || final.has(error.code as ClientErrorCode))
    return undefined
  const asked = invitationIn(error.cause, world.date()) ?? 0
  const now = world.now()
  const wait = Math.max(asked, pauseAfter(job.tries, retry, backoffIn(world, backoff)))
  return now + wait >= job.deadline || budget?.take(now) === false ? undefined : wait
}

/** Whether a repeat changes nothing more, as far as the server says. */
function isHarmless({ method, params }: Job, tools: ToolBook): boolean {
  if (method !== 'tools/call') return harmless.has(method)
  return typeof params?.name === 'string' && tools.isIdempotent(params.name)
}

function pauseAfter(attempt: number, policy: RetryPolicy, usual: Required<BackoffOptions>): number {
  if (policy.backoff === undefined)
    return usual.random() * backoff({ first: usual.base, longest: usual.cap }, attempt - 1)
  const ms: unknown = policy.backoff(attempt)
  if (typeof ms === 'number' && ms >= 0) return ms
  throw sentBefore(bad('retry.backoff', 'a function that answers milliseconds, 0 or more', ms))
}

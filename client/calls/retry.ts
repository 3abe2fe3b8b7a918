import { CaduceusError } from '../../runtime/base/errors.js'
import { type ClientErrorCode, sentBefore } from '../base/errors.js'
import { isSent, type Job } from './job.js'
import type { BackoffOptions } from '../base/backoff.js'
import { bad } from '../base/read-options.js'
import type { RetryPolicy } from '../options/retry.js'
import { isHarmless } from './repeatable.js'
import { invitationIn, type RetryBudget } from '../holdings/retry-budget.js'
import type { ToolBook } from '../holdings/tool-book.js'

/** What the wait for the next attempt is decided by. */
export interface RetryPort {
  readonly backoff: Required<BackoffOptions>
  readonly tools: ToolBook
  readonly budget: RetryBudget | undefined
  /** Now, by the clock of the client. */
  readonly now: number
}

/** Milliseconds until a call that failed is made again by its policy; undefined: it is not. */
export function retryDelay(job: Job, error: unknown, port: RetryPort): number | undefined {
  const { retry } = job
  if (typeof retry !== 'object' || !(error instanceof CaduceusError) || !error.retryable) return undefined
  // a tool is forgotten with the session that listed it
  job.harmless ||= isHarmless(job, port.tools)
  const mayRepeat = retry.safe === true || job.harmless || !isSent(job)
  if (!mayRepeat || job.tries >= (retry.attempts ?? 1) || final.has(error.code as ClientErrorCode))
    return undefined
  const asked = invitationIn(error.cause, Date.now()) ?? 0
  const wait = Math.max(asked, pauseAfter(job.tries, retry, port.backoff))
  if (port.now + wait >= job.deadline || port.budget?.take(port.now) === false) return undefined
  return wait
}

/** Errors after which there is nothing to wait for: the time is over, or the caller does not want to wait. */
const final: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>(['TIMEOUT', 'NOT_READY'])

function pauseAfter(attempt: number, { backoff }: RetryPolicy, usual: Required<BackoffOptions>): number {
  if (backoff === undefined) return usual.random() * Math.min(usual.cap, usual.base * 2 ** (attempt - 1))
  const ms: unknown = backoff(attempt)
  if (typeof ms === 'number' && ms >= 0) return ms
  throw sentBefore(bad('retry.backoff', 'a function that answers milliseconds, 0 or more', ms))
}

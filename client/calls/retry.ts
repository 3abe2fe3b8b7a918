import { CaduceusError } from '../../runtime/base/errors.js'
import { type ClientErrorCode, sentBefore } from '../base/errors.js'
import { isSent, type Job } from './job.js'
import type { BackoffOptions } from '../base/backoff.js'
import { bad, readCount, readFields, readFlag, readFunction } from '../base/read-options.js'
import { isHarmless } from './repeatable.js'
import { invitationIn, type RetryBudget } from '../holdings/retry-budget.js'
import type { ToolBook } from '../holdings/tool-book.js'

/**
 * How a call that fails is made again, within its `timeout` and the `retryBudget` of its client: after errors
 * that are `retryable`, never sooner than a busy server wants (`Retry-After`), and only where that does no
 * harm: calls that never left, that change nothing (lists, reads, tools listed with `readOnlyHint` or
 * `idempotentHint`), or that are declared `safe`.
 */
export interface RetryPolicy {
  /** How often the call is made at most, the first time included. Default 3. */
  readonly attempts?: number
  /**
   * Milliseconds to wait after an attempt that failed, counted from 1. Default: at random below a ceiling
   * that doubles, as `backoff` of the client has it.
   */
  readonly backoff?: ((attempt: number) => number) | undefined
  /** Whether a call may be made twice that may change something. Default false. */
  readonly safe?: boolean
}

/** Whether a call may be made again, and how: by a policy; once, whatever it changes; or not at all. */
export type RetryOption = 'safe' | 'never' | RetryPolicy

/** What the wait for the next attempt is decided by. */
export interface RetryPort {
  readonly backoff: Required<BackoffOptions>
  readonly tools: ToolBook
  readonly budget: RetryBudget | undefined
  /** Now, by the clock of the client. */
  readonly now: number
}

/** Reads the option `retry`. Throws BAD_OPTION, naming the field. */
export function readRetry(value: unknown): RetryOption | undefined {
  if (value === undefined || value === 'safe' || value === 'never') return value
  if (typeof value !== 'object') throw bad('retry', "'safe', 'never', or an object", value)
  const { attempts, backoff, safe } = readFields(value, 'retry', ['attempts', 'backoff', 'safe'])
  if (backoff !== undefined) readFunction(backoff, 'retry.backoff')
  return Object.freeze({
    attempts: attempts === undefined ? 3 : readCount(attempts, 'retry.attempts', 1),
    backoff: backoff as RetryPolicy['backoff'],
    safe: readFlag(safe, 'retry.safe', false),
  })
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

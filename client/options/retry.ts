import { bad, readCount, readFields, readFlag, readFunction } from '../base/read-options.js'

/**
 * Repeats a failed call that was not sent, changes nothing (lists, reads, tools with `readOnlyHint` or
 * `idempotentHint`) or is `safe`. Its error is `retryable`; timeout, `retryBudget` and `Retry-After` hold.
 */
export interface RetryPolicy {
  /** How often the call is made at most, the first time included. Default 3. */
  readonly attempts?: number
  /** Ms to wait after that attempt, from 1. Default: the client's `backoff`, random and doubling. */
  readonly backoff?: ((attempt: number) => number) | undefined
  /** Whether the call may be made twice though it may change something. Default false. */
  readonly safe?: boolean
}

/** Whether a call may be made again: once, whatever it changes (`safe`); not at all; or by a policy. */
export type RetryOption = 'safe' | 'never' | RetryPolicy

/** How often calls are made again that a busy server refused (429, 503) with a `Retry-After`. */
export interface RetryBudgetOptions {
  /** Repetitions of all calls of the client in a minute; calls beyond fail at once. */
  readonly perMinute: number
}

/** Throws BAD_OPTION, naming the field. */
export function readRetry(value: unknown): RetryOption | undefined {
  if (value === undefined || value === 'safe' || value === 'never') return value
  if (typeof value !== 'object') throw bad('retry', "'safe', 'never', or an object", value)
  const { attempts, backoff, safe } = readFields(value, 'retry', ['attempts', 'backoff', 'safe'])
  if (backoff !== undefined) readFunction(backoff, 'retry.backoff')
  return Object.freeze({
    attempts: readCount(attempts, 'retry.attempts', 3),
    backoff: backoff as RetryPolicy['backoff'],
    safe: readFlag(safe, 'retry.safe', false),
  })
}

/** Throws BAD_OPTION, naming the field. */
export function readBudget(value: unknown): RetryBudgetOptions {
  const { perMinute } = readFields(value, 'retryBudget', ['perMinute'])
  return Object.freeze({ perMinute: readCount(perMinute, 'retryBudget.perMinute') })
}

import { bad, readCount, readFields, readFlag, readFunction } from '../base/read-options.js'

/**
 * How a call that fails is made again. It must be one that was not sent, that changes nothing (lists, reads,
 * tools listed with `readOnlyHint` or `idempotentHint`), or that is `safe`, and its error `retryable`. It is
 * made again within its `timeout` and the client's `retryBudget`, and no sooner than `Retry-After` says.
 */
export interface RetryPolicy {
  /** How often the call is made at most, the first time included. Default 3. */
  readonly attempts?: number
  /**
   * Milliseconds to wait after the attempt of that number, from 1. Default: at random below a ceiling that
   * doubles, by `backoff` of the client.
   */
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

/** Reads the option `retry`. Throws BAD_OPTION, naming the field. */
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

/** Reads the option `retryBudget`. Throws BAD_OPTION, naming the field. */
export function readBudget(value: unknown): RetryBudgetOptions {
  const { perMinute } = readFields(value, 'retryBudget', ['perMinute'])
  return Object.freeze({ perMinute: readCount(perMinute, 'retryBudget.perMinute') })
}

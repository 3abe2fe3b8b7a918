import { bad, readCount, readFields, readFlag, readFunction } from '../base/read-options.js'

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

/**
 * How often calls that a busy server turned away (429, 503) are made again when it says after how long
 * (`Retry-After`).
 */
export interface RetryBudgetOptions {
  /** Repetitions of all calls of the client within a minute; more fail at once. */
  readonly perMinute: number
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

/** Reads the option `retryBudget`. Throws BAD_OPTION, naming the field. */
export function readBudget(value: unknown): RetryBudgetOptions {
  const { perMinute } = readFields(value, 'retryBudget', ['perMinute'])
  if (perMinute === undefined) throw bad('retryBudget.perMinute', 'a whole number above 0', perMinute)
  return Object.freeze({ perMinute: readCount(perMinute, 'retryBudget.perMinute', 1) })
}

import { fieldOf } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { readHeaders } from '../../transports/http/client/options.js'
import { optionError } from '../base/errors.js'
import { bad, readFlag, readMs, readOptions, readSignal } from '../base/read-options.js'
import { readRetry, type RetryOption } from './retry.js'

/** What one call may be given besides its params. */
export interface CallOptions {
  /**
   * Milliseconds the call may take, the wait for the connection and all of its rounds included. Default: the
   * client's `timeout`.
   */
  readonly timeout?: number
  /** Whether progress of the server starts that time anew. Default false. */
  readonly resetOnProgress?: boolean
  /** With `resetOnProgress`: milliseconds that the call may take in all. Default ten times `timeout`. */
  readonly totalTimeout?: number
  /** Gives the call up when it aborts: it rejects with CANCELLED, and the server is told. */
  readonly signal?: AbortSignal
  /** Hears of the progress that the server reports. What it throws stops nothing. */
  readonly onProgress?: (progress: {
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
  /**
   * `safe`: the call may be made twice, and is made again, once, when its answer was lost on the way. By
   * default that is done only for what changes nothing: lists, reads, tools listed with `readOnlyHint` or
   * `idempotentHint`. `never`: it leaves once, whatever becomes of it. An object: it is made again as that
   * says.
   */
  readonly retry?: RetryOption
  /** Asks the server also where an answer is kept that still holds. Default false. */
  readonly fresh?: boolean
  /**
   * Whether it waits while there is no connection; if not, it rejects with NOT_READY at once, and was not
   * sent. Default true.
   */
  readonly wait?: boolean
  /**
   * Headers of this request alone, over those that the transport was given, where there are any: over HTTP
   * and HTTP+SSE. `auth` goes over them; no answer to such a call is kept for others.
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * For `request`: values of `resultType` that an extension defines, which a server of 2026-07-28 may answer
   * with; such a result comes as it is, unchecked, and is not kept. Any other that is not known rejects with
   * INVALID_RESPONSE, as the specification wants it. Default none.
   */
  readonly resultTypes?: readonly string[]
}

/** Checked options of one call. */
export interface CallSettings {
  readonly timeout: number
  readonly totalTimeout: number
  readonly resetOnProgress: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: CallOptions['onProgress']
  readonly retry: CallOptions['retry']
  readonly fresh: boolean
  readonly wait: boolean
  /** Their names in lower case. */
  readonly headers: CallOptions['headers']
  readonly resultTypes: CallOptions['resultTypes']
}

/** The names of the options of a call. */
export const callFields: readonly string[] = Object.freeze([
  'timeout',
  'resetOnProgress',
  'totalTimeout',
  'signal',
  'onProgress',
  'retry',
  'fresh',
  'wait',
  'headers',
  'resultTypes',
])

/** Reads the options of a call. Throws BAD_OPTION, naming the field. */
export function readCallOptions(options: CallOptions | undefined, usual: number): CallSettings {
  if (options === undefined) return usualSettings(usual)
  const given = readOptions(options, callFields, '{ timeout: 5000 }')
  const { onProgress, retry } = given
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw bad('onProgress', 'a function', onProgress)
  const timeout = readMs(given.timeout, 'timeout', usual)
  return {
    timeout,
    totalTimeout: readMs(given.totalTimeout, 'totalTimeout', timeout * 10),
    resetOnProgress: readFlag(given.resetOnProgress, 'resetOnProgress', false),
    signal: readSignal(given.signal),
    onProgress: onProgress as CallOptions['onProgress'],
    retry: readRetry(retry),
    fresh: readFlag(given.fresh, 'fresh', false),
    wait: readFlag(given.wait, 'wait', true),
    headers: given.headers === undefined ? undefined : readOwnHeaders(given.headers),
    resultTypes: given.resultTypes === undefined ? undefined : readResultTypes(given.resultTypes),
  }
}

function usualSettings(timeout: number): CallSettings {
  return {
    timeout,
    totalTimeout: timeout * 10,
    resetOnProgress: false,
    signal: undefined,
    onProgress: undefined,
    retry: undefined,
    fresh: false,
    wait: true,
    headers: undefined,
    resultTypes: undefined,
  }
}

/** The two that the protocol has are not for callers to take over. */
function readResultTypes(value: unknown): readonly string[] {
  const isOurs = (type: unknown): boolean => type === 'complete' || type === 'input_required'
  if (Array.isArray(value) && value.every((type) => typeof type === 'string' && !isOurs(type))) return value
  throw bad('resultTypes', 'an array of texts, none of them complete or input_required', value)
}

function readOwnHeaders(value: unknown): CallOptions['headers'] {
  try {
    return readHeaders(value, 'headers')
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause
    throw optionError(fieldOf(cause), cause.message, cause)
  }
}

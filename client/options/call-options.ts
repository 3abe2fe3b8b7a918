import type { TaskMetadata } from '../../protocol/messages/tools.js'
import { fieldOf } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { readHeaders } from '../../transports/http/client/options.js'
import { optionError } from '../base/errors.js'
import {
  bad,
  readCount,
  readFields,
  readFlag,
  readFunction,
  readMs,
  readOptions,
  readSignal,
} from '../base/read-options.js'
import { readRetry, type RetryOption } from './retry.js'

/** The options of one call. */
export interface CallOptions {
  /** Ms, with the wait for the connection and all rounds. Default: the client's `timeout`. */
  readonly timeout?: number
  /** Whether progress that the server reports starts that time anew. Default false. */
  readonly resetOnProgress?: boolean
  /** With `resetOnProgress`: milliseconds that the call may take in all. Default ten times `timeout`. */
  readonly totalTimeout?: number
  /** Gives the call up when it aborts: the call rejects with CANCELLED, and the server is told. */
  readonly signal?: AbortSignal
  /** Called with the progress that the server reports. What it throws stops nothing. */
  readonly onProgress?: (progress: {
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
  /**
   * `safe`: repeated once after a lost answer. `never`: not repeated. An object: repeated by that policy.
   * Default: as `safe` for what changes nothing (lists, reads, tools with `readOnlyHint` or
   * `idempotentHint`).
   */
  readonly retry?: RetryOption
  /** Asks the server though an answer is kept that still holds. Default false. */
  readonly fresh?: boolean
  /** Whether it waits for a connection; otherwise it rejects with NOT_READY at once, unsent. Default true. */
  readonly wait?: boolean
  /**
   * Headers of this request (HTTP), over the transport's, below those of `auth`. Its answer is not cached.
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * For `request`: an extension's `resultType` values (2026-07-28), returned unchecked and not kept. Others
   * reject with INVALID_RESPONSE. Default none.
   */
  readonly resultTypes?: readonly string[]
  /**
   * For `request`: called with the place and the fault of each entry of a list that breaks the specification. Such
   * entries are left out, and the list is not kept; else it rejects with INVALID_RESPONSE. What it throws stops
   * nothing.
   */
  readonly onBadEntry?: (problem: string) => void
}

/** The options of `callTool`. */
export interface ToolCallOptions extends CallOptions {
  /**
   * Runs the tool as a task where it may be one (2025-11-25, tasks: `taskSupport: 'optional'`); `ttl`: ms for
   * which the server is asked to keep it. The result is the same. Tools that have to be tasks always are, and
   * in 2026-07-28 the server decides. Default false.
   */
  readonly task?: boolean | { readonly ttl?: number }
}

type WithDefault = 'timeout' | 'totalTimeout' | 'resetOnProgress' | 'fresh' | 'wait'

/** Names of `headers` are in lower case. */
export type CallSettings = Readonly<Required<Pick<CallOptions, WithDefault>>> & {
  readonly [Field in Exclude<keyof CallOptions, WithDefault>]: CallOptions[Field]
}

export const callFields: readonly string[] = Object.freeze(Object.keys(defaultSettings(1)))

/** `timeout` is the default. Throws BAD_OPTION. */
export function readCallOptions(options: CallOptions | undefined, timeout: number): CallSettings {
  return options === undefined ? defaultSettings(timeout) : readGiven(options, timeout)
}

/** What a call asks of its task; undefined: it need not be one. Throws BAD_OPTION. */
export function readToolOptions(options: ToolCallOptions | undefined): {
  readonly task: TaskMetadata | undefined
  readonly call: CallOptions | undefined
} {
  const isGiven = typeof options === 'object' && options !== null && Object.hasOwn(options, 'task')
  if (!isGiven) return { task: undefined, call: options }
  const { task, ...call } = readOptions(options, [...callFields, 'task'], '{ timeout: 5000 }')
  return { task: readTask(task), call }
}

function readTask(value: unknown): TaskMetadata | undefined {
  if (value === undefined || value === false) return undefined
  if (value === true) return {}
  const { ttl } = readFields(value, 'task', ['ttl'])
  return ttl === undefined ? {} : { ttl: readCount(ttl, 'task.ttl') }
}

function readGiven(options: CallOptions, usual: number): CallSettings {
  const given = readOptions(options, callFields, '{ timeout: 5000 }')
  const { onProgress, headers, resultTypes, onBadEntry } = given
  if (onProgress !== undefined) readFunction(onProgress, 'onProgress')
  if (onBadEntry !== undefined) readFunction(onBadEntry, 'onBadEntry')
  const timeout = readMs(given.timeout, 'timeout', usual)
  return {
    timeout,
    totalTimeout: readMs(given.totalTimeout, 'totalTimeout', timeout * 10),
    resetOnProgress: readFlag(given.resetOnProgress, 'resetOnProgress', false),
    signal: readSignal(given.signal),
    onProgress: onProgress as CallOptions['onProgress'],
    retry: readRetry(given.retry),
    fresh: readFlag(given.fresh, 'fresh', false),
    wait: readFlag(given.wait, 'wait', true),
    headers: headers === undefined ? undefined : readOwnHeaders(headers),
    resultTypes: resultTypes === undefined ? undefined : readResultTypes(resultTypes),
    onBadEntry: onBadEntry as CallOptions['onBadEntry'],
  }
}

function defaultSettings(timeout: number): CallSettings {
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
    onBadEntry: undefined,
  }
}

/** `complete` and `input_required` are the protocol's own. */
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

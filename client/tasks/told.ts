import type { Dialect } from '../../protocol/dialects/dialect.js'
import {
  readCreatedTask,
  readExtensionTask,
  readTask,
  type ToldTask,
} from '../../protocol/messages/told-tasks.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { callError } from '../base/errors.js'

/** An answer of the server, and the revision it came in. */
export interface TaskAnswer {
  readonly result: JsonObject
  readonly dialect: Dialect | undefined
}

/** A task as it was last told. */
export interface Told extends ToldTask {
  /** 2026-07-28: the task has its questions and its result itself. Undefined: it is one of 2025-11-25. */
  readonly modern: Dialect | undefined
}

/** The answer to `tasks/get`, in either revision. Throws INVALID_RESPONSE. */
export function readTold(method: string, { result, dialect }: TaskAnswer): Told {
  const modern = dialect?.handshake === false ? dialect : undefined
  const read = modern === undefined ? readTask : readExtensionTask
  return { ...checked(() => read(method, result)), modern }
}

/**
 * The task that a call became, in the words of the revision that it was answered in; undefined: it is a result.
 * Throws INVALID_RESPONSE.
 */
export function readMade(method: string, { result, dialect }: TaskAnswer): Told | undefined {
  if (dialect?.handshake === false)
    return result.resultType === 'task'
      ? { ...checked(() => readExtensionTask(method, result)), modern: dialect }
      : undefined
  if (result.task === undefined) return undefined
  return { ...checked(() => readCreatedTask(method, result)), modern: undefined }
}

/** What a reader answers; its BAD_RESULT becomes INVALID_RESPONSE. */
export function checked<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
  }
}

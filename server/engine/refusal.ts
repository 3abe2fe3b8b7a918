import { isPromise } from '../../runtime/base/promise.js'
import { messageOf } from '../../runtime/base/errors.js'
import { ServerError } from '../base/errors.js'
import type { SessionRecord, SessionStore } from './session-store.js'

/** Whether a store has refused a record as such, so that it is of no use to save it again. */
export function isRefusal(error: unknown): error is ServerError {
  return error instanceof ServerError && error.code === 'BAD_STATE'
}

/** How much a record may hold, where a refusal says so: a part of a sentence. */
export function boundOf(problem: ServerError | undefined): string {
  const { maxBytes } = (problem?.data ?? {}) as { readonly maxBytes?: number }
  return maxBytes === undefined ? '' : ` of ${maxBytes} bytes`
}

/**
 * What a store of an author has thrown for a record: BAD_STATE if it refuses the record, or cannot write it, and
 * as it is otherwise, as the store may be away.
 */
export function readRefusal(
  error: unknown,
  record: SessionRecord,
  store: Pick<SessionStore, 'check'>,
): unknown {
  if (isRefusal(error)) return error
  return isRefusedBy(store, record) || cannotBeWritten(error, record) ? refusal(error) : error
}

/** Asks the `check` of an author. Throws BAD_STATE, whatever that throws. */
export function askCheck(store: Pick<SessionStore, 'check'>, record: SessionRecord): void {
  let answer: unknown
  try {
    answer = store.check?.(record)
  } catch (error) {
    throw isRefusal(error) ? error : refusal(error)
  }
  if (!isPromise(answer)) return
  answer.then(undefined, () => {}) // said below
  throw new ServerError('BAD_STATE', 'check of the store: expected an answer at once, got a promise')
}

function isRefusedBy(store: Pick<SessionStore, 'check'>, record: SessionRecord): boolean {
  try {
    askCheck(store, record)
    return false
  } catch {
    return true
  }
}

/** Whether it says of itself that a value cannot be copied, or is what `JSON.stringify` throws for this record. */
function cannotBeWritten(error: unknown, record: SessionRecord): boolean {
  const chain = [...causes(error)]
  if (chain.some(({ name, code }) => name === 'DataCloneError' || code === 'BAD_STATE')) return true
  const problem = jsonProblem(record)
  return problem !== undefined && chain.some(({ message }) => firstLine(message) === problem)
}

/** Why the record has no JSON: a bigint, a circle, or more than a text can hold. */
function jsonProblem(record: SessionRecord): string | undefined {
  try {
    JSON.stringify(record)
    return undefined
  } catch (error) {
    return firstLine(messageOf(error))
  }
}

/** The rest tells where in the record, which a store may have wrapped. */
function firstLine(text: unknown): string {
  return String(text).split('\n', 1)[0] ?? ''
}

const maxCauses = 8

function* causes(error: unknown): Generator<{ name?: unknown; code?: unknown; message?: unknown }> {
  let next = error
  for (let n = 0; n < maxCauses && typeof next === 'object' && next !== null; n += 1) {
    yield next
    next = (next as { cause?: unknown }).cause
  }
}

function refusal(cause: unknown): ServerError {
  const problem = `the state of a session: expected what its store can save: ${messageOf(cause)}`
  return new ServerError('BAD_STATE', problem, { cause })
}

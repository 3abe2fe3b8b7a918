import { setMaxListeners } from 'node:events'
import type { Question } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { readOutcome } from '../../protocol/stateless/input-required.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Method, Params } from '../../protocol/messages/methods.js'
import type { InputResponses } from '../../protocol/messages/base.js'
import type { InputRequiredResult } from '../../protocol/messages/input-required.js'
import { messageOf } from '../../runtime/base/errors.js'
import { answerQuestion, type Desk } from './answering.js'
import { callError, ClientError } from '../base/errors.js'

/** Rounds of one call; then it fails with TOO_MANY_ROUNDS. */
export const maxRounds = 10
/** Per answer; each may ask a person. */
export const maxQuestions = 100
/** Ms before a repeat when the server only wanted its state back. */
export const statePause = 250

/** The questions in a result (2026-07-28); undefined when the call is over. Throws INVALID_RESPONSE. */
export function readRound(
  method: string,
  result: JsonObject,
  taken: readonly string[] | undefined,
): InputRequiredResult | undefined {
  const { resultType = 'complete' } = result
  if (resultType === 'complete' || taken?.includes(resultType as string)) return undefined
  // a caller that handles other result types itself has to say that it takes this one
  if (resultType === 'task' && method === 'tools/call' && taken === undefined) return undefined
  try {
    // a method that nobody knows has no type but complete: this throws
    const outcome = readOutcome(method as Method, result)
    if (outcome.type === 'complete') return undefined
    const { inputRequests = {} } = outcome.result
    if (Object.keys(inputRequests).length <= maxQuestions) return outcome.result
    throw new ProtocolError('BAD_RESULT', `${method}: more than ${maxQuestions} questions at once`)
  } catch (error) {
    if (error instanceof ProtocolError) throw invalid(error)
    throw error
  }
}

/**
 * Answers a round's questions side by side. Rejects with INVALID_RESPONSE (an undeclared one) or UNANSWERED
 * (a handler failed); the call is not repeated then.
 */
export async function answerRound(
  method: string,
  { inputRequests = {} }: InputRequiredResult,
  desk: Desk,
): Promise<InputResponses | undefined> {
  const questions = Object.entries(inputRequests)
  if (questions.length === 0) return undefined
  const controller = new AbortController()
  const signal = AbortSignal.any([desk.signal, controller.signal])
  setMaxListeners(maxQuestions, signal) // each question listens
  try {
    const answers = await Promise.all(
      questions.map(async ([key, asked]) => {
        const params = (asked.params ?? {}) as Params<Question>
        return [key, await answerQuestion({ method: asked.method, params }, { ...desk, signal })] as const
      }),
    )
    return Object.fromEntries(answers)
  } catch (cause) {
    throw unanswered(method, cause)
  } finally {
    controller.abort() // the other questions need no answer any more
  }
}

export function tooManyRounds(method: string): ClientError {
  const text = `${method}: the server asked more than ${maxRounds} times`
  return callError('TOO_MANY_ROUNDS', text, { sent: true, retryable: false })
}

export function hasRounds(dialect: Dialect | undefined): dialect is Dialect {
  return dialect?.handshake === false
}

export function unanswered(method: string, cause: unknown): ClientError {
  const isUndeclared = cause instanceof McpError && (cause.code === -32601 || cause.code === -32602)
  const ended = cause instanceof ClientError && (cause.code === 'CANCELLED' || cause.code === 'TIMEOUT')
  const code = ended ? cause.code : isUndeclared ? 'INVALID_RESPONSE' : 'UNANSWERED'
  const text = `${method}: what the server asked was not answered: ${messageOf(cause)}`
  return callError(code, text, { sent: true, retryable: false, cause })
}

function invalid(cause: ProtocolError): ClientError {
  return callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
}

import type { Question } from '../../protocol/dialects/capabilities.js'
import { McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { readResult } from '../../protocol/messages/params.js'
import type { QuestionAnswer } from '../holdings/request-state.js'

/**
 * The answers of a client to open questions, by their ids. Answers to nothing asked are ignored (specification:
 * mrtr, `tasks/update`). Throws McpError -32602 for one of the wrong shape: then none counts.
 */
export function readAnswers(
  asked: ReadonlyMap<string, Question>,
  responses: JsonObject | undefined,
): Map<string, QuestionAnswer> {
  const answers = new Map<string, QuestionAnswer>()
  for (const [id, method] of asked) {
    if (responses === undefined || !Object.hasOwn(responses, id)) continue
    answers.set(id, { method, result: readAnswer(id, method, responses[id]) })
  }
  return answers
}

/** Adds an answer to those under its key, oldest first: a handler may ask again under one key. */
export function addAnswer<Given>(
  answers: Map<string, readonly Given[]>,
  key: string,
  answer: Given,
): Map<string, readonly Given[]> {
  return answers.set(key, [...(answers.get(key) ?? []), answer])
}

function readAnswer(id: string, method: Question, response: unknown): JsonObject {
  if (!isObject(response)) throw badAnswer(id, `${method}: expected an object`)
  try {
    return readResult(method, response) as object as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw badAnswer(id, cause.message)
  }
}

function badAnswer(id: string, problem: string): McpError {
  return McpError.invalidParams(`inputResponses[${JSON.stringify(id.slice(0, 100))}]: ${problem}`)
}

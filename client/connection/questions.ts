import type { Question } from '../../protocol/dialects/capabilities.js'
import { acceptsRequest } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, toJsonRpcError, unknownMethod } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildError, buildResult, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Params } from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import { relatedTask } from '../../protocol/messages/tasks.js'
import { metaOf } from '../../protocol/stateless/envelope.js'
import { answerQuestion } from '../answers/answering.js'
import { ClientError } from '../base/errors.js'
import type { Incarnation } from './incarnation.js'

/** Open questions of one server; more are refused, since each may ask a person. */
const maxOpen = 100

/** Open requests of the server on this connection (revisions with a handshake). */
export class Questions {
  readonly #state: Incarnation
  readonly #open = new Map<RequestId, AbortController>()

  constructor(state: Incarnation) {
    this.#state = state
  }

  /**
   * Answers a request; a server of 2026-07-28 must not make any, and gets no answer. A ping on a pipe during
   * the probe is answered: the server may be older (specification: lifecycle, ping).
   */
  take({ id, method, params }: JsonRpcRequest): void {
    const { link, speech, holdings, settings, greeting } = this.#state
    const undecided = greeting?.step === 'discover' && settings.transport.modern !== 'http'
    const mayAsk = speech.dialect.handshake || (undecided && method === 'ping')
    if (!mayAsk || this.#open.has(id)) {
      holdings.counts.junk += 1
      return
    }
    if (method === 'ping') return link.tell(buildResult(id, {}))
    try {
      if (!isQuestion(method) || !acceptsRequest(speech.dialect, 'client', method))
        throw unknownMethod(method)
      this.#answer(id, method, readParams(method, params))
    } catch (error) {
      link.tell(buildError(id, toJsonRpcError(error)))
    }
  }

  /** It gets no answer. */
  cancelled(id: RequestId | undefined): void {
    if (id === undefined) return
    this.#open.get(id)?.abort()
    this.#open.delete(id)
  }

  clear(): void {
    for (const id of [...this.#open.keys()]) this.cancelled(id)
  }

  #answer(id: RequestId, method: Question, params: Params<Question>): void {
    const { settings, holdings, world, speech } = this.#state
    if (this.#open.size >= maxOpen) throw this.#tooMany()
    const controller = new AbortController()
    this.#open.set(id, controller)
    const { signal } = controller
    const timeout = settings.questionTimeout
    const desk = { settings, holdings, clock: world, dialect: speech.dialect, signal, timeout }
    const settled = (say: () => void): void => {
      // in the actor, and only if the question is still open: the id may be another's by then
      this.#state.post(() => {
        if (this.#open.get(id) !== controller) return
        this.#open.delete(id)
        say()
      })
    }
    answerQuestion({ method, params }, desk).then(
      (result: JsonObject) =>
        settled(() => this.#state.link.tell(buildResult(id, related(result, params._meta)))),
      (error: unknown) => settled(() => this.#refuse(id, error)),
    )
  }

  #refuse(id: RequestId, error: unknown): void {
    const { link, holdings } = this.#state
    if (!(error instanceof McpError) && !(error instanceof ClientError && error.code === 'CANCELLED'))
      holdings.handlerOwner.fail(error, 'rejection')
    link.tell(buildError(id, toJsonRpcError(error)))
  }

  #tooMany(): McpError {
    const { holdings } = this.#state
    const reason = `${maxOpen} questions of the server are open already`
    holdings.reports.warn('too_many_questions', reason)
    return new McpError(errorCodes.internalError, reason)
  }
}

/** What belongs to a task names it (2025-11-25, tasks). */
function related(result: JsonObject, meta: Params<Question>['_meta']): JsonObject {
  const task = meta?.[relatedTask]
  return task === undefined ? result : { ...result, _meta: { ...metaOf(result), [relatedTask]: task } }
}

function isQuestion(method: string): method is Question {
  return method === 'sampling/createMessage' || method === 'elicitation/create' || method === 'roots/list'
}

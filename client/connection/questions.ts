import type { Question } from '../../protocol/dialects/capabilities.js'
import { acceptsRequest } from '../../protocol/dialects/dialect.js'
import {
  errorCodes,
  McpError,
  type ProtocolError,
  toJsonRpcError,
  unknownMethod,
} from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildError, buildResult, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Params } from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import { relatedTask } from '../../protocol/messages/tasks.js'
import type { TaskMetadata } from '../../protocol/messages/tools.js'
import { metaOf } from '../../protocol/stateless/envelope.js'
import { answerQuestion, checkDeclared } from '../answers/answering.js'
import { QuestionTasks, takesQuestionTasks } from '../answers/question-tasks.js'
import { ClientError } from '../base/errors.js'
import type { Incarnation } from './incarnation.js'

/** Open questions of one server; more are refused, since each may ask a person. */
const maxOpen = 100

/** Open requests of the server on this connection (revisions with a handshake). */
export class Questions {
  readonly #state: Incarnation
  readonly #open = new Map<RequestId, AbortController>()
  readonly #tasks: QuestionTasks

  constructor(state: Incarnation) {
    this.#state = state
    const { world, post } = state
    this.#tasks = new QuestionTasks({ world, post, refusal: (error) => this.#refusal(error) })
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
    const hasTasks = takesQuestionTasks(speech.dialect, settings.capabilities)
    try {
      if (hasTasks && method.startsWith('tasks/'))
        return this.#run(id, (signal) => this.#tasks.answer(method, params, signal))
      if (!isQuestion(method) || !acceptsRequest(speech.dialect, 'client', method))
        throw unknownMethod(method)
      this.#answer(id, method, readParams(method, params), hasTasks)
    } catch (error) {
      link.tell(buildError(id, toJsonRpcError(error)))
    }
  }

  /** A request that cannot be read: whoever asked is told, and does not wait for it. */
  unreadable(id: RequestId, error: ProtocolError): void {
    const { link, speech } = this.#state
    if (speech.dialect.handshake && !this.#open.has(id)) link.tell(buildError(id, toJsonRpcError(error)))
  }

  /** The server has cancelled a request: it gets no answer. */
  cancelled(id: RequestId | undefined): void {
    if (id === undefined) return
    this.#open.get(id)?.abort()
    this.#open.delete(id)
  }

  /** The connection is over: what became a task goes on. */
  clear(): void {
    for (const id of [...this.#open.keys()]) this.cancelled(id)
  }

  /** The actor is over. */
  end(): void {
    this.clear()
    this.#tasks.end()
  }

  #answer(id: RequestId, method: Question, params: Params<Question>, hasTasks: boolean): void {
    const { settings, holdings, world, speech } = this.#state
    const { task, ...plain } = params as Params<Question> & TaskRequest
    const asked = { method, params: plain as Params<Question> }
    const { dialect } = speech
    const timeout = settings.questionTimeout
    const work = (signal: AbortSignal): Promise<JsonObject> =>
      answerQuestion(asked, {
        ...{ settings, holdings, clock: world, dialect, signal, callSignal: undefined, timeout },
      })
    if (!hasTasks || task === undefined || method === 'roots/list')
      return this.#run(id, async (signal) => related(await work(signal), params._meta))
    checkDeclared(asked, { settings, dialect })
    const made = { task: this.#tasks.begin(task, work) } as object as JsonObject
    this.#state.link.tell(buildResult(id, related(made, params._meta)))
  }

  #run(id: RequestId, work: (signal: AbortSignal) => Promise<JsonObject>): void {
    if (this.#open.size >= maxOpen) throw this.#tooMany()
    const controller = new AbortController()
    this.#open.set(id, controller)
    const settled = (say: () => void): void => {
      // in the actor, and only if the question is still open: the id may be another's by then
      this.#state.post(() => {
        if (this.#open.get(id) !== controller) return
        this.#open.delete(id)
        say()
      })
    }
    const { link } = this.#state
    work(controller.signal).then(
      (result) => settled(() => link.tell(buildResult(id, result))),
      (error: unknown) => settled(() => link.tell(buildError(id, toJsonRpcError(this.#refusal(error))))),
    )
  }

  /** What the server hears; a fault of the handler is told to whoever gave it. */
  #refusal(error: unknown): McpError {
    const { holdings } = this.#state
    if (error instanceof McpError) return error
    if (!(error instanceof ClientError && error.code === 'CANCELLED'))
      holdings.handlerOwner.fail(error, 'rejection')
    if (error instanceof ClientError && error.code === 'BAD_ANSWER')
      return McpError.internal('The client answers what cannot be used: its handler is at fault')
    const { code, message, data } = toJsonRpcError(error)
    return new McpError(code, message, { data })
  }

  #tooMany(): McpError {
    const { holdings } = this.#state
    const reason = `${maxOpen} questions of the server are open already`
    holdings.reports.warn('too_many_questions', reason)
    return new McpError(errorCodes.internalError, reason)
  }
}

/** What a server may ask to be a task. */
interface TaskRequest {
  readonly task?: TaskMetadata
}

/** What belongs to a task names it (2025-11-25, tasks). */
function related(result: JsonObject, meta: Params<Question>['_meta']): JsonObject {
  const task = meta?.[relatedTask]
  return task === undefined ? result : { ...result, _meta: { ...metaOf(result), [relatedTask]: task } }
}

function isQuestion(method: string): method is Question {
  return method === 'sampling/createMessage' || method === 'elicitation/create' || method === 'roots/list'
}

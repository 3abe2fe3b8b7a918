import { encode } from '../../protocol/wire/codec.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { fitError } from '../../protocol/dialects/fit.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildError, buildResult, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isPromise } from '../../runtime/base/promise.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import { type EncodedResult, encodedText } from '../../transports/base/encoded.js'
import type { ToolContext } from '../context/context.js'
import { AskError, ServerError, ToolError } from '../base/errors.js'
import { exposedError } from '../base/exposed-error.js'
import { requirementError } from './question.js'
import type { Work } from './work.js'

/** A request that an author's code is working on. */
export interface InProgress {
  readonly request: JsonRpcRequest
  readonly work: Work
  /** Milliseconds, and when that time is up. */
  readonly timeout: number
  readonly deadline: number
  cancelled: boolean
  /** What the code has come to; undefined before, and for good when it crashed. */
  response: Response | undefined
}

/**
 * Runs the work, at once where it is done at once: a promise costs more than most of it. Throws, or rejects
 * with, what is a crash.
 */
export function answer(
  request: Pick<InProgress, 'request' | 'work'>,
  dialect: Dialect,
  ctx: ToolContext,
): Response | Promise<Response> {
  try {
    const result = request.work.run(ctx)
    return isPromise(result)
      ? answerLater(request, dialect, result)
      : encodedResult(request.request.id, result)
  } catch (error) {
    return toRefusal(request.request.id, dialect, error)
  }
}

/** The answer to a request whose task has ended; undefined for a cancelled one, which is not answered. */
export function responseAfter(
  request: InProgress,
  task: ProcessRef,
  reason: ExitReason,
  { exposeErrors, now }: { readonly exposeErrors: boolean; readonly now: number },
): Response | undefined {
  const { id } = request.request
  if (request.cancelled) return undefined
  if (request.response !== undefined) return request.response
  // a timer may fire a little early
  if (reason.type === 'killed' && now >= request.deadline - 1) {
    const outcome = request.work.timedOut(request.timeout)
    return outcome instanceof McpError ? buildError(id, toJsonRpcError(outcome)) : encodedResult(id, outcome)
  }
  const report = `${processOf(task).tree.id}.${task.id}`
  const error = exposeErrors && reason.type === 'crash' ? exposedError(reason.error) : undefined
  const told = error === undefined ? '' : `: ${error.message}`
  const message = `Internal error${told} (report ${report})`
  const data = error === undefined ? { report } : { report, error }
  return buildError(id, { code: errorCodes.internalError, message, data })
}

/** A good answer that carries its JSON text. Throws ProtocolError NOT_SERIALISABLE. */
export function encodedResult(id: RequestId, result: object, text?: string): EncodedResult {
  const whole =
    text === undefined
      ? encode(buildResult(id, result))
      : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
  return { jsonrpc: '2.0', id, result: result as JsonObject, [encodedText]: whole }
}

async function answerLater(
  request: Pick<InProgress, 'request'>,
  dialect: Dialect,
  running: PromiseLike<unknown>,
): Promise<Response> {
  try {
    const result = await running
    // only now: a call of several rounds is answered by the id of the last
    return encodedResult(request.request.id, result as object)
  } catch (error) {
    return toRefusal(request.request.id, dialect, error)
  }
}

/**
 * Whether an author's code has asked for session state where there is none: its author is to find that out
 * from the answer.
 */
function isNoSession(error: unknown): error is ServerError {
  return error instanceof ServerError && error.code === 'NO_SESSION'
}

/** The answer that an error is; throws what is none. */
function toRefusal(id: RequestId, dialect: Dialect, error: unknown): Response {
  const refusal = error instanceof AskError ? requirementError(error) : error
  if (refusal instanceof McpError) return buildError(id, fitError(dialect, toJsonRpcError(refusal)))
  if (!(error instanceof AskError || error instanceof ToolError || isNoSession(error))) throw error
  const { code, message } = error
  return buildError(id, { code: errorCodes.internalError, message, data: { code } })
}

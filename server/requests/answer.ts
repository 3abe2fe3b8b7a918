import { encode } from '../../protocol/wire/codec.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { fitError } from '../../protocol/dialects/fit.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildError, buildResult, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import { isObject } from '../../protocol/wire/json.js'
import { cut } from '../../runtime/base/cut.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { Response } from '../../transports/contract/contract.js'
import { type EncodedResult, encodedText } from '../../transports/base/encoded.js'
import type { ToolContext } from '../context/context.js'
import { AskError, isTold } from '../base/errors.js'
import { isWorkHeard, type RequestOrigin, type WorkEvent, withWork } from '../base/events.js'
import { requirementError } from './question.js'
import type { Work } from './work.js'

/** The request, its revision, and where it came from. */
interface AnswerInput {
  readonly request: JsonRpcRequest
  readonly dialect: Dialect
  readonly origin: RequestOrigin
}

/** Makes no promise where none is needed: it costs more than most work. Throws or rejects for a crash. */
export function answer(work: Work, ctx: ToolContext, asked: AnswerInput): Response | Promise<Response> {
  if (!isWorkHeard()) return respond(work, ctx, asked.dialect)
  return withWork(workEvent(asked, ctx), () => respond(work, ctx, asked.dialect))
}

/** Answers at once, without a task, with the same events as work. `make` gives the response. */
export function answerNow<Made extends Response>(
  request: JsonRpcRequest,
  dialect: Dialect,
  origin: RequestOrigin,
  make: () => Made,
): Made {
  if (!isWorkHeard()) return make()
  return withWork(workEvent({ request, dialect, origin }, atOnce), make)
}

/**
 * What is answered at once is not given up. Its signal is made when it is asked for: not every platform makes
 * one at its start.
 */
const atOnce = Object.freeze({
  get signal() {
    return new AbortController().signal
  },
})

function respond(work: Work, ctx: ToolContext, dialect: Dialect): Response | Promise<Response> {
  try {
    const result = work.run(ctx)
    if (isPromise(result)) return answerLater(result, ctx, dialect)
    return encodedResult(ctx.requestId, result)
  } catch (error) {
    return toResponse(ctx.requestId, dialect, error)
  }
}

function workEvent(
  { request: { id, method, params }, dialect, origin }: AnswerInput,
  ctx: Pick<ToolContext, 'signal'>,
): WorkEvent {
  const target = params?.name ?? params?.uri
  const meta = params?._meta
  return {
    ...origin,
    method: cut(method, 100),
    id,
    ...(typeof target === 'string' && { target: cut(target, 200) }),
    revision: dialect.revision,
    meta: isObject(meta) ? meta : {},
    // made when it is asked for
    get signal() {
      return ctx.signal
    },
  }
}

/** A result that carries its JSON text, made here unless given. Throws ProtocolError NOT_SERIALISABLE. */
export function encodedResult(id: RequestId, result: object, text?: string): EncodedResult {
  const whole =
    text === undefined
      ? encode(buildResult(id, result))
      : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
  return { jsonrpc: '2.0', id, result: result as JsonObject, [encodedText]: whole }
}

/** The answer to a McpError, shaped for the client's revision where it is known. */
export function refusal(id: RequestId, error: McpError, dialect?: Dialect): Response {
  const told = toJsonRpcError(error)
  return buildError(id, dialect === undefined ? told : fitError(dialect, told))
}

export function tryAgain(id: RequestId, problem: string): Response {
  const message = `${problem}: try once more`
  return buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
}

/** The answer to a request whose own could not be kept. */
export function unkeptResponse(
  id: RequestId,
  { message, retryable }: { readonly message: string; readonly retryable: boolean },
  data?: object,
): Response {
  return buildError(id, { code: errorCodes.internalError, message, data: { ...data, retryable } })
}

async function answerLater(
  running: PromiseLike<unknown>,
  ctx: ToolContext,
  dialect: Dialect,
): Promise<Response> {
  try {
    const result = await running
    // only now: a call of several rounds is answered by the id of the last
    return encodedResult(ctx.requestId, result as object)
  } catch (error) {
    return toResponse(ctx.requestId, dialect, error)
  }
}

/** The answer to an error that its client may read; throws any other, which is a crash. */
function toResponse(id: RequestId, dialect: Dialect, error: unknown): Response {
  const told = error instanceof AskError ? requirementError(error) : error
  if (told instanceof McpError) return refusal(id, told, dialect)
  if (!isTold(error)) throw error
  const { code, message } = error
  return buildError(id, { code: errorCodes.internalError, message, data: { code } })
}

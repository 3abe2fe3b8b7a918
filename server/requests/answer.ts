import { encode } from '../../protocol/wire/codec.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { fitError } from '../../protocol/dialects/fit.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { buildError, buildResult, type JsonRpcRequest, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isObject } from '../../protocol/wire/json.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Response } from '../../transports/contract/contract.js'
import { type EncodedResult, encodedText } from '../../transports/base/encoded.js'
import type { ToolContext } from '../context/context.js'
import { AskError, isNoSession, isWorkerEnded, ToolError } from '../base/errors.js'
import { isWorkHeard, type RequestOrigin, type WorkEvent, withWork } from '../base/events.js'
import { toldCrash } from '../base/exposed-error.js'
import { requirementError } from './question.js'
import type { Work } from './work.js'

export interface InProgress {
  readonly request: JsonRpcRequest
  readonly work: Work
  /** Milliseconds, and when that time is up. */
  readonly timeout: number
  readonly deadline: number
  cancelled: boolean
  /** Its work is done, and what is left is the server's. */
  isAnswered?: boolean
  /** Written by the task just before it ends; undefined when it crashed or was killed. */
  response: Response | undefined
}

/** Makes no promise where none is needed: it costs more than most work. Throws or rejects for a crash. */
export function answer(
  request: Pick<InProgress, 'request' | 'work'>,
  dialect: Dialect,
  ctx: ToolContext,
  origin: RequestOrigin,
): Response | Promise<Response> {
  if (!isWorkHeard()) return respond(request, dialect, ctx)
  return withWork(workEvent(request.request, dialect, { ctx, origin }), () => respond(request, dialect, ctx))
}

/** Answers at once, without a task; told as work is. `make` gives the response. */
export function answerNow<Made extends Response>(
  request: JsonRpcRequest,
  dialect: Dialect,
  origin: RequestOrigin,
  make: () => Made,
): Made {
  if (!isWorkHeard()) return make()
  return withWork(workEvent(request, dialect, { ctx: atOnce, origin }), make)
}

/** What is answered at once is not given up. */
const atOnce = Object.freeze({ signal: new AbortController().signal })

function respond(
  request: Pick<InProgress, 'request' | 'work'>,
  dialect: Dialect,
  ctx: ToolContext,
): Response | Promise<Response> {
  try {
    const result = request.work.run(ctx)
    if (isPromise(result)) return answerLater(request, dialect, result)
    return encodedResult(request.request.id, result)
  } catch (error) {
    return toResponse(request.request.id, dialect, error)
  }
}

function workEvent(
  { id, method, params }: JsonRpcRequest,
  dialect: Dialect,
  { ctx, origin }: { readonly ctx: Pick<ToolContext, 'signal'>; readonly origin: RequestOrigin },
): WorkEvent {
  const target = params?.name ?? params?.uri
  const meta = params?._meta
  return {
    ...origin,
    method: method.slice(0, 100),
    id,
    ...(typeof target === 'string' && { target: target.slice(0, 200) }),
    revision: dialect.revision,
    meta: isObject(meta) ? meta : {},
    // made when it is asked for
    get signal() {
      return ctx.signal
    },
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
    return outcome instanceof McpError ? refusal(id, outcome) : encodedResult(id, outcome)
  }
  // it was ended with its server, or by hand: nothing is wrong with it
  if (reason.type === 'killed' || reason.type === 'shutdown')
    return tryAgain(id, 'The request was interrupted')
  const told = toldCrash(task, reason, exposeErrors)
  // once it has answered, what fails is the server's own: a store
  const result = request.isAnswered ? undefined : request.work.crashed?.(told)
  if (result !== undefined) return encodedResult(id, result)
  const { message, data } = told
  return buildError(id, { code: errorCodes.internalError, message, ...(data !== undefined && { data }) })
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
    return toResponse(request.request.id, dialect, error)
  }
}

/** The answer to an error that its client may read; throws any other, which is a crash. */
function toResponse(id: RequestId, dialect: Dialect, error: unknown): Response {
  const told = error instanceof AskError ? requirementError(error) : error
  if (told instanceof McpError) return refusal(id, told, dialect)
  const isTold =
    error instanceof AskError || error instanceof ToolError || isWorkerEnded(error) || isNoSession(error)
  if (!isTold) throw error
  const { code, message } = error
  return buildError(id, { code: errorCodes.internalError, message, data: { code } })
}

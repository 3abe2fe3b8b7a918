import type { Batch } from '../../protocol/wire/codec.js'
import { errorCodes, type JsonRpcError, ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  buildError,
  buildResult,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { dialectOf } from '../../protocol/dialects/versions.js'

/** Whether an array came, of which only 2025-03-26 knows what it means. */
export function isBatch(decoded: Message | Batch): decoded is Batch {
  return Array.isArray(decoded)
}

/** Whether the session that was opened by this answer may send batches. */
export function speaksBatches(response: Message): boolean {
  if (!('result' in response)) return false
  const { protocolVersion } = response.result
  return typeof protocolVersion === 'string' && dialectOf(protocolVersion)?.batches === true
}

/** What is done with the answer to one request; undefined for one that was cancelled. */
export type Answer = (response: Message | undefined) => void

/**
 * Has each message of a batch taken, and sends the answers together once all are there; a broken element is
 * answered at once.
 */
export function takeEach(
  batch: Batch,
  take: (message: Message, settle: Answer) => void,
  send: (answers: readonly Message[]) => void,
): void {
  const answers: Message[] = []
  let waiting = batch.length
  const settle = (response: Message | undefined): void => {
    if (response !== undefined) answers.push(response)
    waiting -= 1
    if (waiting === 0 && answers.length > 0) send(answers)
  }
  for (const element of batch) {
    if (element instanceof ProtocolError) settle(answerInvalid(element))
    else take(element, settle)
  }
}

/** The answer to a request that must not be made now. */
export function refusal(id: RequestId | undefined, message: string): Message {
  return buildError(id, { code: errorCodes.invalidRequest, message })
}

/** The answer to a batch that came where there are none. */
export const noBatches: Message = Object.freeze(
  refusal(undefined, 'a batch: the negotiated revision takes one message at a time'),
)

/** What is answered at once to a request that came before there is a session; `initialize` opens one. */
export function answerEarly({ id, method }: JsonRpcRequest): Message | undefined {
  if (method === 'ping') return buildResult(id, {})
  return method === 'initialize' ? undefined : refusal(id, 'expected initialize first')
}

/**
 * The answer to what is not for this connection: none but to requests, and to batches, which may have some.
 */
export function refusedAs(decoded: Message | Batch, error: JsonRpcError | undefined): Message | undefined {
  return error && buildError('id' in decoded ? decoded.id : undefined, error)
}

/** The answer to a request that the server could not finish, or begin. */
export function interrupted(id: RequestId, message: string) {
  const response = buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
  return { ...response, id }
}

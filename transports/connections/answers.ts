import { type Batch, encode } from '../../protocol/wire/codec.js'
import { errorCodes, type JsonRpcError, type ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  buildError,
  buildResult,
  type JsonRpcRequest,
  type Message,
  type RequestId,
  standIn,
} from '../../protocol/wire/jsonrpc.js'

/** What is done with the answer to one request; undefined for one that was cancelled. */
export type Answer = (response: Message | undefined) => void

/** Whether an array came, of which only 2025-03-26 knows what it means. */
export function isBatch(decoded: Message | Batch): decoded is Batch {
  return Array.isArray(decoded)
}

export function refusal(id: RequestId, message: string): Message {
  return buildError(id, { code: errorCodes.invalidRequest, message })
}

/** What is answered at once to a request that came before there is a session; `initialize` opens one. */
export function answerEarly({ id, method }: JsonRpcRequest): Message | undefined {
  if (method === 'ping') return buildResult(id, {})
  return method === 'initialize' ? undefined : refusal(id, 'expected initialize first')
}

/** The error for a message of the wrong era; undefined for notifications, which get none. */
export function refusedAs(decoded: Message | Batch, error: JsonRpcError | undefined): Message | undefined {
  return error && buildError('id' in decoded ? decoded.id : undefined, error)
}

/** The answer to a request that the server could not finish, or begin. */
export function interrupted(id: RequestId, message: string) {
  const response = buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
  return { ...response, id }
}

/** A message too long was skipped: the request it answers fails (`take`), or it is refused (`write`). */
export function takeSkipped(
  error: ProtocolError,
  take: (text: string) => void,
  write: (text: string) => void,
): void {
  const answer = standIn(error)
  if (answer !== undefined) return take(encode(answer))
  const refused = answerInvalid(error)
  if (refused !== undefined) write(encode(refused))
}

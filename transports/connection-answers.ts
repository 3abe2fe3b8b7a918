import type { Batch } from '../protocol/codec.js'
import { errorCodes } from '../protocol/errors.js'
import { buildError, type Message, type RequestId } from '../protocol/jsonrpc.js'
import { dialectOf } from '../protocol/versions.js'

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

/** The answer to a request that must not be made now. */
export function refusal(id: RequestId | undefined, message: string): Message {
  return buildError(id, { code: errorCodes.invalidRequest, message })
}

/** The answer to a request that the server could not finish, or begin. */
export function interrupted(id: RequestId, message: string) {
  const response = buildError(id, { code: errorCodes.internalError, message, data: { retryable: true } })
  return { ...response, id }
}

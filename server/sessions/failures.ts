import { errorCodes, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { buildError, isRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import type { RefOf } from '../../runtime/process/ref.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import type { sessionActor } from './session-actor.js'

/** Whether a session ended before it took what it was asked. */
export function isGone(error: unknown): boolean {
  return error instanceof RuntimeError && error.code === 'NOPROC'
}

/** Whether a session takes this peer; rejects with why not, and answers false when it has ended. */
export async function isAccepted(
  session: RefOf<typeof sessionActor>,
  peer: Peer | undefined,
): Promise<boolean> {
  try {
    await session.call('revision', peer)
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    return false
  }
}

/** The answer to a request that its session could not take; what is none is thrown. */
export function failedDelivery(message: Message, error: unknown): Response {
  if (!isRequest(message)) throw error
  if (error instanceof McpError) return buildError(message.id, toJsonRpcError(error))
  if (!(error instanceof RuntimeError)) throw error
  const why = {
    code: errorCodes.internalError,
    message: 'The session was interrupted: try once more',
    data: { retryable: true },
  }
  return buildError(message.id, why)
}

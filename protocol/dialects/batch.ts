import type { Batch } from '../wire/codec.js'
import type { Dialect } from './dialect.js'
import { ProtocolError } from '../wire/errors.js'
import { answerInvalid, isRequest, type JsonRpcErrorResponse, type Message } from '../wire/jsonrpc.js'

/** A batch as its receiver handles it. */
export interface OpenBatch {
  /** What is to be handled, in this order. */
  readonly messages: readonly Message[]
  /** The answers owed for elements that are no message; they go into the same array as the other answers. */
  readonly refusals: readonly JsonRpcErrorResponse[]
}

/**
 * Opens a batch of a peer that speaks `dialect`; undefined: of one that has not initialized. Throws
 * INVALID_MESSAGE where the revision has no batches, and for `initialize` inside one (2025-03-26, basic and
 * lifecycle).
 */
export function openBatch(batch: Batch, dialect: Dialect | undefined): OpenBatch {
  const messages = batch.filter((element): element is Message => !(element instanceof ProtocolError))
  if (messages.some((message) => isRequest(message) && message.method === 'initialize')) {
    throw refused('initialize must not be in a batch')
  }
  if (dialect === undefined) throw refused('a batch before initialize')
  if (!dialect.batches) throw refused(`revision ${dialect.revision} has no batches`)
  const refusals = batch.flatMap((element) => {
    const answer = element instanceof ProtocolError ? answerInvalid(element) : undefined
    return answer === undefined ? [] : [answer]
  })
  return { messages, refusals }
}

function refused(problem: string): ProtocolError {
  return new ProtocolError('INVALID_MESSAGE', `not one JSON-RPC message: ${problem}`, {
    data: { about: 'unknown' },
  })
}

import { encode } from '../../protocol/wire/codec.js'
import type { JsonRpcResult, Message } from '../../protocol/wire/jsonrpc.js'

/** The key under which a message may carry its own JSON text, so that it is encoded once. */
export const encodedText: unique symbol = Symbol('encodedText')

/** A good answer together with its JSON text. */
export interface EncodedResult extends JsonRpcResult {
  readonly [encodedText]: string
}

/** The one-line JSON text of a message, carried or new. Throws ProtocolError NOT_SERIALISABLE. */
export function textOf(message: Message & { readonly [encodedText]?: string }): string {
  return message[encodedText] ?? encode(message)
}

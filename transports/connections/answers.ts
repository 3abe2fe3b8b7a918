import { encode } from '../../protocol/wire/codec.js'
import type { ProtocolError } from '../../protocol/wire/errors.js'
import { answerInvalid, standIn } from '../../protocol/wire/jsonrpc.js'

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

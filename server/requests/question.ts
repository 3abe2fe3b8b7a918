import { missingCapability, missingForQuestion } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { fitParams } from '../../protocol/dialects/fit.js'
import type { Params } from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import type { ClientCapabilities } from '../../protocol/messages/types/capabilities.js'
import type { AskMethod } from '../context/ask.js'
import { AskError, optionError } from '../base/errors.js'

/** What the client of a question knows and can do. */
export interface Asked {
  readonly dialect: Dialect
  readonly capabilities: ClientCapabilities
}

/**
 * The params of a question as the client's revision has them, as plain JSON; undefined for none. Throws
 * AskError MISSING_CAPABILITY where it must not be asked, and ServerError BAD_OPTION for what is no question.
 */
export function readQuestion<M extends AskMethod>(
  method: M,
  params: Params<M>,
  { dialect, capabilities }: Asked,
): object | undefined {
  if (method === 'ping') return undefined
  const plain = toPlain(method, params)
  if (!dialect.requests.client.includes(method)) {
    const problem = `${method}: the client's revision ${dialect.revision} does not have it`
    throw new AskError('MISSING_CAPABILITY', problem, { data: { capability: missingCapability(method, {}) } })
  }
  const capability = missingForQuestion(dialect, method, plain as never, capabilities)
  if (capability !== undefined) {
    const problem = `${method}: the client has not declared ${capability}`
    throw new AskError('MISSING_CAPABILITY', problem, { data: { capability } })
  }
  try {
    return fitParams(dialect, method, plain as never)
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw new AskError('MISSING_CAPABILITY', cause.message, { cause })
  }
}

/**
 * An author's objects stay with the author: what they do when they are written out is done here, and not in
 * the session.
 */
function toPlain<M extends AskMethod>(method: M, params: Params<M>): Params<M> {
  try {
    return readParams(method, JSON.parse(JSON.stringify(params)))
  } catch (cause) {
    throw optionError('question', `${method}: not a question: ${(cause as Error).message}`, cause)
  }
}

import { missingCapability, missingForQuestion } from '../../protocol/dialects/capabilities.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { fitParams } from '../../protocol/dialects/fit.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Params } from '../../protocol/messages/methods.js'
import { readParams } from '../../protocol/messages/params.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { AskMethod } from '../context/ask.js'
import { AskError, optionError } from '../base/errors.js'

interface AskedClient {
  readonly dialect: Dialect
  readonly capabilities: ClientCapabilities
}

/** Throws AskError MISSING_CAPABILITY if the client cannot be asked, and BAD_OPTION for a bad question. */
export function readQuestion<M extends AskMethod>(
  method: M,
  params: Params<M>,
  { dialect, capabilities }: AskedClient,
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

/** Serialises an author's objects here, in the author's task: their getters must not run in a session. */
function toPlain<M extends AskMethod>(method: M, params: Params<M>): Params<M> {
  try {
    return readParams(method, JSON.parse(JSON.stringify(params)))
  } catch (cause) {
    throw optionError('question', `${method}: not a question: ${(cause as Error).message}`, cause)
  }
}

/** Adds `requiredCapabilities` to MISSING_CAPABILITY, for -32021 (specification: 2026-07-28, mrtr). */
export function withRequirements(error: unknown): unknown {
  if (!(error instanceof AskError && error.code === 'MISSING_CAPABILITY' && isObject(error.data)))
    return error
  const { capability } = error.data
  if (typeof capability !== 'string') return error
  const requiredCapabilities = capability
    .split('.')
    .reduceRight<JsonObject>((inner, key) => ({ [key]: inner }), {})
  return new AskError(error.code, error.message, { cause: error, data: { capability, requiredCapabilities } })
}

/** The error -32021 for an AskError with `requiredCapabilities`; undefined for any other. */
export function requirementError({ message, data }: AskError): McpError | undefined {
  if (!isObject(data) || !isObject(data.requiredCapabilities)) return undefined
  const { requiredCapabilities } = data
  return new McpError(errorCodes.missingClientCapability, message, { data: { requiredCapabilities } })
}

import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { AskError } from '../base/errors.js'

/**
 * The error for a question that the client of this very request cannot be asked; let through by a handler, it
 * is answered -32021 (specification: 2026-07-28, mrtr).
 */
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

/**
 * The JSON-RPC error that names what the client has to declare; undefined where the revision has no such
 * error.
 */
export function requirementError({ message, data }: AskError): McpError | undefined {
  if (!isObject(data) || !isObject(data.requiredCapabilities)) return undefined
  const { requiredCapabilities } = data
  return new McpError(errorCodes.missingClientCapability, message, { data: { requiredCapabilities } })
}

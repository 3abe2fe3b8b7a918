import { createHash } from 'node:crypto'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'

/**
 * Which request this is, and whose: the same for every retry of it, in whatever order its arguments are
 * written.
 */
export function digestRequest({ method, params = {} }: JsonRpcRequest, owner: string | undefined): string {
  const { name, uri, arguments: args = {} } = params as JsonObject
  const parts = [owner ?? null, method, name ?? null, uri ?? null, args]
  return createHash('sha256').update(canonical(parts)).digest('base64url')
}

/** JSON text with sorted keys; what came over the wire is never nested too deeply for it. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
  return `{${entries.join()}}`
}

import { isObject, type JsonObject } from '../../protocol/wire/json.js'

/** In `_meta` of requests and answers: the gateways that stand between who asks and who answers. */
export const gatewaysKey = 'caduceus/gateways'
/** In a row: one that is among its own servers would be asked for ever. */
export const mostGateways = 16

/** The gateways that params, or a result, name; of what somebody else wrote. */
export function gatewaysIn(carrier: object | undefined): readonly string[] {
  const { _meta: meta } = (carrier ?? {}) as JsonObject
  const named: unknown = isObject(meta) ? meta[gatewaysKey] : undefined
  if (!Array.isArray(named)) return []
  return named.slice(0, mostGateways + 1).filter((id) => typeof id === 'string')
}

/** The same params, or result, that name these. */
export function withGateways<T extends object>(carrier: T, gateways: readonly string[]): T {
  const { _meta: meta } = carrier as JsonObject
  return { ...carrier, _meta: { ...(meta as object), [gatewaysKey]: gateways.slice(0, mostGateways) } }
}

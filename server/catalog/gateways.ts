import { isObject, type JsonObject } from '../../protocol/wire/json.js'

/** In `_meta` of requests, and of entries of lists: the gateways between who asks and who has it. */
const gatewaysKey = 'caduceus/gateways'
/** In a row: one that is among its own servers would be asked for ever. */
export const mostGateways = 16
/** Characters of the id of one. */
const longestId = 64

/** The gateways that params, or an entry, name; somebody else wrote that, and speaks of what is its own. */
export function gatewaysIn(carrier: object | undefined): readonly string[] {
  const { _meta: meta } = (carrier ?? {}) as JsonObject
  const named: unknown = isObject(meta) ? meta[gatewaysKey] : undefined
  if (!Array.isArray(named)) return []
  return named.slice(0, mostGateways + 1).filter((id) => typeof id === 'string' && id.length <= longestId)
}

/** The same params, or entry, that name these. */
export function withGateways<T extends object>(carrier: T, gateways: readonly string[]): T {
  const { _meta: meta } = carrier as JsonObject
  return { ...carrier, _meta: { ...(meta as object), [gatewaysKey]: gateways.slice(0, mostGateways) } }
}

/** The same entry, that names none. */
export function withoutGateways(entry: JsonObject): JsonObject {
  const { _meta: meta, ...rest } = entry
  if (!isObject(meta) || !Object.hasOwn(meta, gatewaysKey)) return entry
  const { [gatewaysKey]: _gateways, ...others } = meta
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others }
}

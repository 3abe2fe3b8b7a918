import type { JsonObject } from 'caduceus/protocol'

/** Whether a value is an object in the sense of JSON: no array, not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

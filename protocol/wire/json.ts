/** A value that is neither null, an array nor a primitive. */
export type JsonObject = { readonly [key: string]: unknown }

/** Whether `value` is an object in the sense of JSON: no array, not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names a value for an error message by its kind, never by its content, which may be secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Promise) return 'a promise, which wants an await'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a number'
  return `a ${typeof value}`
}

/**
 * JSON text with sorted keys: equal values have equal texts. `onObject` gets the number of fields of each
 * object.
 */
export function canonical(value: unknown, onObject?: (fieldCount: number) => void): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (!isObject(inner)) return inner
    const fields = Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))
    onObject?.(fields.length)
    return Object.fromEntries(fields)
  })
}

/** Freezes a value with all that it holds; returns it. */
export function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}

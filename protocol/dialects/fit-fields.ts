/** The value without these fields; the same value when it has none of them. */
export function leaveOut<T extends object>(value: T, fields: readonly string[] | undefined): T {
  if (fields === undefined || !fields.some((field) => Object.hasOwn(value, field))) return value
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field))) as T
}

/**
 * The value with one field changed; the same value when the field is absent or `change` returns what it got.
 */
export function changeField<T extends object, K extends keyof T>(
  value: T,
  field: K,
  change: (inner: Exclude<T[K], undefined>) => T[K],
): T {
  const inner = value[field]
  if (inner === undefined) return value
  const changed = change(inner as Exclude<T[K], undefined>)
  return changed === inner ? value : { ...value, [field]: changed }
}

/** The list with each element changed; the same list when `change` returns what it got, every time. */
export function mapKept<T>(list: T[], change: (element: T) => T): T[] {
  const changed = list.map(change)
  return changed.every((element, index) => element === list[index]) ? list : changed
}

/** The JSON text of a value; throws what `fail` makes for one that has none. */
export function jsonText(value: unknown, fail: (cause?: unknown) => Error): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw fail(cause)
  }
  if (text === undefined) throw fail()
  return text
}

import type { SafeAnswer } from './fetch.js'

/** An answer as `fetch` gives it. */
export function toResponse({ status, headers, text }: SafeAnswer): Response {
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value : value.join(', ')]],
  )
  return new Response(text === '' ? null : withoutNulls(text), { status, headers: given })
}

/** Some write null for what they leave out, as the end of tokens that have none. */
function withoutNulls(text: string): string {
  if (!text.includes('null')) return text
  try {
    return JSON.stringify(JSON.parse(text, (_name, value: unknown) => (value === null ? undefined : value)))
  } catch {
    // whoever reads it says what is wrong
    return text
  }
}

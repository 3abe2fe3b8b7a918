/**
 * Milliseconds that a `Retry-After` asks for: seconds, or a date (RFC 9110, section 10.2.3). `wallNow` is the
 * time in ms since 1970. Undefined for a header that is missing, or neither.
 */
export function readRetryAfter(value: unknown, wallNow: number): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - wallNow)
}

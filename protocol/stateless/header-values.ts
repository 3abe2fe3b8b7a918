import { errorCodes, McpError } from '../wire/errors.js'

/** Headers of a request, their names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

const opening = '=?base64?'
const closing = '?='
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** What a header can hold as it is: visible ASCII, with spaces and tabs inside only. */
const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const utf8 = new TextEncoder()

/**
 * A value as `Mcp-Name` and `Mcp-Param-*` carry it: as it is, or in base64 where a header could not hold it.
 */
export function encodeHeaderValue(value: string): string {
  if (plain.test(value) && !isEncoded(value)) return value
  const bytes = utf8.encode(value)
  return `${opening}${Buffer.from(bytes).toString('base64')}${closing}`
}

/**
 * The value that such a header stands for, or undefined for base64 or UTF-8 that is none; markers of another
 * case are no markers.
 */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimmed(header)
  if (!isEncoded(value)) return value
  const inner = value.slice(opening.length, -closing.length)
  if (!base64.test(inner)) return undefined
  try {
    return strictUtf8.decode(Buffer.from(inner, 'base64'))
  } catch {
    return undefined
  }
}

/** A header without the white space around it, several of one name as a list; undefined when it is absent. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  if (value === undefined) return undefined
  return trimmed(typeof value === 'string' ? value : value.join(', '))
}

/** The error -32020 of a header that does not say what the body says. */
export function headerMismatch(header: string, problem: string): McpError {
  return new McpError(errorCodes.headerMismatch, `${header}: ${problem}`, { data: { header } })
}

function isEncoded(value: string): boolean {
  return (
    value.length >= opening.length + closing.length && value.startsWith(opening) && value.endsWith(closing)
  )
}

/** Optional white space is space and tab, nothing else (RFC 9110, section 5.6.3). */
function trimmed(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isSpace(value.charCodeAt(start))) start++
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--
  return end - start === value.length ? value : value.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}

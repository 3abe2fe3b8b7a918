/** Characters of an id that is sent back; servers refuse headers of 16 KiB. */
const longestId = 4_096

/**
 * An id of an event as `Last-Event-ID` has it: UTF-8 where it does not fit into a header as it is (HTML
 * standard, 9.2). Undefined for one that cannot be sent back: it is empty, which takes back the one before,
 * or endless, or has control characters in it.
 */
export function eventIdHeader(id: string): string | undefined {
  if (id === '' || id.length > longestId) return undefined
  const bytes = /[^\0-\xff]/.test(id) ? Buffer.from(id, 'utf8').toString('latin1') : id
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(bytes) ? bytes : undefined
}

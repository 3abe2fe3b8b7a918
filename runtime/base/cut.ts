/**
 * The first `max` characters of a text that somebody else chose, for keeping: a copy. V8 makes a slice by
 * pointing into the whole text, which then lives as long as the slice; a short text may be one, too.
 */
export function cut(text: string, max: number): string {
  // UTF-16 keeps lone surrogates
  return Buffer.from(text.slice(0, max), 'utf16le').toString('utf16le')
}

/** The formats of text that can be checked. */
export type CheckedFormat = 'email' | 'uri' | 'uuid'

const checks: { readonly [Format in CheckedFormat]: (text: string) => boolean } = {
  email: isEmail,
  uri: (text) => URL.canParse(text),
  uuid: (text) => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
}

/** Whether text of this format can be told from other text. */
export function isFormat(format: unknown): format is CheckedFormat {
  return typeof format === 'string' && Object.hasOwn(checks, format)
}

/** Whether a text has this format. */
export function checkFormat(format: CheckedFormat, text: string): boolean {
  return checks[format](text)
}

/** What a mail form takes (WHATWG HTML, valid email address), in two looks at each character. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@')
  if (at < 1 || text.length > 320) return false
  const labels = text.slice(at + 1).split('.')
  const isLabel = (label: string) => /^[\da-z](?:[\da-z-]*[\da-z])?$/i.test(label) && label.length <= 63
  return /^[\w.!#$%&'*+/=?^`{|}~-]+$/.test(text.slice(0, at)) && labels.every(isLabel)
}

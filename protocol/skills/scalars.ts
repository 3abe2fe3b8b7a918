import { ProtocolError } from '../wire/errors.js'

const words: ReadonlyMap<string, boolean | null> = new Map([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
])
const decimal = /^[-+]?(?:\d+|\d*\.\d+|\d+\.\d*)(?:[eE][-+]?\d+)?$/
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

/**
 * A value without quotes, by the core schema of YAML 1.2: `null`, truth values, numbers, or else a text. Throws
 * BAD_FRONT_MATTER for numbers that JSON does not have.
 */
export function readPlain(text: string): string | number | boolean | null {
  const word = words.get(text)
  if (word !== undefined) return word
  if (/^0o[0-7]+$/.test(text) || /^0x[\da-fA-F]+$/.test(text)) return finite(text)
  if (notFinite.test(text))
    throw new ProtocolError('BAD_FRONT_MATTER', `JSON does not have the number ${text}`)
  return decimal.test(text) ? finite(text) : text
}

function finite(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value)) return value
  throw new ProtocolError('BAD_FRONT_MATTER', `JSON does not have the number ${text}`)
}

/** A text below `|` (as it stands) or `>` (lines folded); `parent` is the indent of its key. */
export function readBlockText(header: string, lines: readonly string[], parent: number): string {
  const [, style, first = '', second = ''] = /^([|>])([-+\d]?)([-+\d]?)\s*(?:(?<=\s)#.*)?$/.exec(header) ?? []
  const signs = [first, second].filter((sign) => sign === '-' || sign === '+')
  const digits = [first, second].filter((digit) => /^[1-9]$/.test(digit))
  const isKnown = style !== undefined && signs.length < 2 && digits.length < 2
  if (!isKnown || signs.length + digits.length !== first.length + second.length)
    throw new ProtocolError(
      'BAD_FRONT_MATTER',
      `expected | or >, with - or +, got ${header.trim().slice(0, 20)}`,
    )
  const [digit] = digits
  const whole = lines.find((line) => line.trim() !== '')
  const indent = digit !== undefined ? Math.max(parent, 0) + Number(digit) : (whole?.search(/[^ ]/) ?? 0)
  const short = lines.find((line) => line.trim() !== '' && line.slice(0, indent).trim() !== '')
  if (short !== undefined)
    throw new ProtocolError(
      'BAD_FRONT_MATTER',
      `a line of the text is not indented: ${short.trim().slice(0, 40)}`,
    )
  const texts = lines.map((line) => line.slice(indent))
  const last = texts.findLastIndex((text) => text.trim() !== '')
  const body = texts.slice(0, last + 1)
  const text = style === '|' ? body.join('\n') : fold(body)
  if (signs[0] === '-') return text
  if (signs[0] === '+') return (last === -1 ? '' : `${text}\n`) + '\n'.repeat(texts.length - 1 - last)
  return last === -1 ? '' : `${text}\n`
}

/** Joins lines by spaces; empty lines are line ends, and lines that are indented further stay as they are. */
function fold(lines: readonly string[]): string {
  let text = ''
  let gap = 0
  let before: 'none' | 'text' | 'indented' = 'none'
  for (const line of lines) {
    if (line.trim() === '' && !/^[ \t]+$/.test(line)) {
      gap += 1
      continue
    }
    const kind = /^[ \t]/.test(line) ? 'indented' : 'text'
    const isFolded = kind === 'text' && before === 'text'
    const ends = before === 'none' || isFolded ? gap : gap + 1
    text += (ends === 0 && isFolded ? ' ' : '\n'.repeat(ends)) + line
    before = kind
    gap = 0
  }
  return text
}

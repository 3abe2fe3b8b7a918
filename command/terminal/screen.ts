import { unsteered } from '../../runtime/base/steering.js'
import { standardError } from '../../runtime/faults/standard-error.js'
import { exitCodes } from '../base/usage-error.js'

const failure = new AbortController()

/** Aborts when standard output cannot be written any more. */
export const outputFailed: AbortSignal = failure.signal

/** Has a program whose reader has gone end without a word, with the exit code of SIGPIPE; a full disk is told. */
export function guardOutput(): void {
  const { stdout, stderr } = process
  // a terminal that is gone: there is nobody to tell
  stderr.on('error', () => {})
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // who serves over it ends in a way of its own
    if (outputFailed.aborted || stdout.listenerCount('error') > 1) return
    const hasNoReader = code === 'EPIPE' || code === 'EIO'
    if (!hasNoReader) tell(`caduceus: standard output: ${message}`)
    process.exitCode = hasNoReader ? exitCodes.unread : exitCodes.failed
    failure.abort(new Error(message))
  })
}

/**
 * Writes to standard output. Texts of servers may stand anywhere in it: on a terminal none of them steers it. A
 * file or a pipe gets the text as it is.
 */
export function print(text: string): void {
  process.stdout.write(process.stdout.isTTY ? unsteered(text) : text)
}

/**
 * Writes a line for people to standard error, which may be a terminal or end in a log. It stays one, whatever
 * texts of others stand in it: a line of their own would be taken for one of ours.
 */
export function tell(line: string): void {
  tellLines(withoutBreaks(line))
}

/** A text as one line, in time linear in its length. */
export function withoutBreaks(text: string): string {
  const [first = '', ...others] = text.split(/[\n\r]+/)
  const rest = others.map((part) => part.trim()).filter((part) => part !== '')
  return [first.trimEnd(), ...rest].join(' ')
}

/** The same, of a text whose lines are meant, or are somebody else's as they are. */
export function tellLines(text: string): void {
  standardError.write(`${unsteered(text)}\n`)
}

/** A text that is to stay in its line, as the name of a tool in a list. */
export function oneLine(text: string): string {
  return unsteered(text.replace(/\s+/g, ' ')).trim()
}

/** JSON with what `unsteered` takes out as escapes: the same value, wherever it is shown. */
export function jsonText(value: unknown, indent?: number): string {
  return unsteered(JSON.stringify(value, undefined, indent), (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A text of somebody else in full, told from our own words by a bar before each line, wrapped at words. */
export function quoted(text: string, columns = process.stderr.columns || 80): string {
  const width = Math.max(2, columns - 4)
  return unsteered(text)
    .replaceAll('\t', '  ')
    .split('\n')
    .flatMap((line) => wrap(line.trimEnd(), width))
    .map((line) => `  | ${line}`)
    .join('\n')
}

function wrap(line: string, width: number): string[] {
  const lines = ['']
  // a word that the terminal would wrap goes on without a bar
  for (const word of line.split(' ').flatMap((word) => piecesOf(word, width))) {
    const last = lines.at(-1) ?? ''
    if (last === '') lines[lines.length - 1] = word
    else if (columnsOf(last) + 1 + columnsOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** A word in parts that each have room in a line. */
function piecesOf(word: string, width: number): readonly string[] {
  const pieces = ['']
  let used = 0
  for (const letter of word) {
    const columns = columnsOf(letter)
    if (used > 0 && used + columns > width) {
      pieces.push('')
      used = 0
    }
    pieces[pieces.length - 1] += letter
    used += columns
  }
  return pieces
}

/** Letters from there on may take two columns of a terminal (Unicode, UAX #11). */
const wideFrom = 0x1100

/** Columns of a terminal that a text takes at most: some letters, as those that are combined, take less. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const letter of text) columns += (letter.codePointAt(0) ?? 0) < wideFrom ? 1 : 2
  return columns
}

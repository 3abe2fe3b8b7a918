// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Writes to standard output. Texts of servers may stand anywhere in it: on a terminal none of them steers it. A
 * file or a pipe gets the text as it is.
 */
export function print(text: string): void {
  process.stdout.write(process.stdout.isTTY ? clean(text) : text)
}

/** Writes a line for people to standard error, which may be a terminal or end in a log. */
export function tell(line: string): void {
  process.stderr.write(`${clean(line)}\n`)
}

/** A text without codes that would steer a terminal: C0 but newline and tab, DEL, C1. */
export function clean(text: string): string {
  return text.replace(steering, '')
}

/** A text that is to stay in its line, as the name of a tool in a list. */
export function oneLine(text: string): string {
  return clean(text.replace(/\s+/g, ' ')).trim()
}

/** JSON with DEL and C1 as escapes, too: the same value, wherever it is shown. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(
    /[\u007f-\u009f]/g,
    (code) => `\\u00${code.charCodeAt(0).toString(16)}`,
  )
}

/** A text of somebody else in full, told from our own words by a bar before each line, wrapped at words. */
export function quoted(text: string, columns = process.stderr.columns || 80): string {
  const width = Math.max(20, columns - 4)
  return clean(text)
    .split('\n')
    .flatMap((line) => wrap(line.trimEnd(), width))
    .map((line) => `  | ${line}`)
    .join('\n')
}

function wrap(line: string, width: number): string[] {
  const lines = ['']
  for (const word of line.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last === '') lines[lines.length - 1] = word
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

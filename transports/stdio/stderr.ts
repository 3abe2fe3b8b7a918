import { StringDecoder } from 'node:string_decoder'
import { cut } from '../../runtime/base/cut.js'

/** What a server said last on its standard error. */
export interface StderrRing {
  /** Takes a chunk, and gives each line it completes to `onLine`. */
  push(chunk: Uint8Array): void
  /** The last lines, oldest first; an unfinished one is the last. */
  lines(): string[]
}

const maxLines = 20
const maxCharacters = 8 * 1024

/** How programs write what ended them: `Error: x`, `TypeError [CODE]: x`, `java.lang.Exception: x`. */
const errorLine =
  /^\s*(?:uncaught |fatal |thread )?[\w.$]*(?:error|exception|panic|fatal)(?:\s*\[[^\]]*\])?: ?\S/i
/** What stands around it: stacks, a caret, brackets, and the version of Node. */
const noise =
  /^\s*(?:at .*|\^+|[{}[\]()]*,?|Node\.js v[\d.]+|\w+: \[.*\],?|code: '\w+',?|requireStack: .*)\s*$/

/** The line that says why a program ended: its last error, or the last that is not noise. */
export function tellingLine(lines: readonly string[]): string | undefined {
  const backwards = [...lines].reverse()
  return (
    backwards.find((line) => errorLine.test(line)) ??
    backwards.find((line) => !noise.test(line)) ??
    backwards[0]
  )?.trim()
}

/** Keeps the last 20 lines, and at most 8 KiB of them; the rest is forgotten as it comes. */
export function createStderrRing(onLine: (line: string) => void = () => {}): StderrRing {
  const utf8 = new StringDecoder('utf8')
  const kept: string[] = []
  let size = 0
  let rest = ''

  function push(chunk: Uint8Array): void {
    const parts = (rest + utf8.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))).split(
      /\r?\n/,
    )
    // An endless line would grow the rest: its last part is as good as any.
    rest = cut((parts.pop() ?? '').slice(-maxCharacters), maxCharacters)
    for (const line of parts) {
      keep(line)
      onLine(line)
    }
  }

  function keep(line: string): void {
    kept.push(cut(line, maxCharacters))
    size += Math.min(line.length, maxCharacters)
    while (kept.length > maxLines || size > maxCharacters) size -= (kept.shift() ?? '').length
  }

  return { push, lines: () => (rest === '' ? [...kept] : [...kept, rest].slice(-maxLines)) }
}

import type { Invocation } from '../base/invocation.js'
import { unsteered } from '../../runtime/base/steering.js'
import { jsonText, oneLine, print } from './screen.js'

/** Prints a value as JSON with `--json`, or the text of it. */
export function printAs({ values }: Invocation, value: unknown, text: () => string): void {
  const shown = values.json === true ? jsonText(value, 2) : text()
  print(shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`)
}

/** The content of a result as text: what is none is named with its type and size. */
export function contentText(content: readonly object[]): string {
  return content.map((block) => blockText(block as Block)).join('\n')
}

interface Block {
  readonly type?: string
  readonly text?: string
  readonly data?: string
  readonly blob?: string
  readonly mimeType?: string
  readonly uri?: string
  readonly name?: string
  readonly resource?: Block
}

function blockText(block: Block): string {
  if (block.text !== undefined) return block.text
  if (block.resource !== undefined) return blockText(block.resource)
  const data = block.data ?? block.blob
  if (data !== undefined)
    return `[${block.type ?? 'data'} ${oneLine(block.mimeType ?? '')}, ${sizeOf(data)} bytes]`
  if (block.uri !== undefined) return `[${oneLine(block.name ?? 'resource')}: ${oneLine(block.uri)}]`
  return jsonText(block)
}

function sizeOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

/** The first line of a text, not longer than a row of a list. */
export function firstLine(text: string | undefined, length = 90): string {
  const [line = ''] = unsteered(text ?? '')
    .trim()
    .split('\n')
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}

/** A bar on standard error, where that is a terminal; `end` takes it away. */
export function progressBar(): {
  readonly show: (progress: { progress: number; total?: number; message?: string }) => void
  readonly end: () => void
} {
  const { stderr } = process
  if (!stderr.isTTY) return { show: () => {}, end: () => {} }
  const state = { shown: false }
  return {
    show({ progress, total, message }) {
      state.shown = true
      const width = 24
      const share = total === undefined || total <= 0 ? undefined : Math.min(1, Math.max(0, progress / total))
      const done = Math.round((share ?? 0) * width)
      const bar =
        share === undefined
          ? `${progress}`
          : `${'#'.repeat(done)}${'.'.repeat(width - done)} ${Math.round(share * 100)} %`
      stderr.write(`\r\x1b[K${bar} ${firstLine(message, Math.max(10, (stderr.columns || 80) - 40))}`)
    },
    end() {
      if (state.shown) stderr.write('\r\x1b[K')
    },
  }
}

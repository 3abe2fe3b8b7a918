import { extname } from 'node:path'
import type { Invocation } from '../base/invocation.js'
import { checkWritable, writeWhole } from '../base/write-file.js'
import { contentText, printAs } from '../terminal/output.js'

interface Part {
  readonly data?: string
  readonly blob?: string
  readonly mimeType?: string
  readonly resource?: Part
}

/**
 * Writes a result to a file: its images, audio and blobs as bytes, several to numbered files, and prints the
 * rest; a result without any as text.
 */
export async function writeContent(
  invocation: Invocation,
  file: string,
  content: readonly object[],
  text: () => string,
): Promise<void> {
  const options = { force: invocation.values.force === true }
  const bytes = content.flatMap((block) => bytesOf(block) ?? [])
  const rest = content.filter((block) => bytesOf(block) === undefined)
  const parts = bytes.length > 0 ? bytes : [{ bytes: Buffer.from(text()), mimeType: 'text/plain' }]
  const files = parts.map((part, index) => ({ ...part, file: numbered(file, index) }))
  for (const { file: name } of files) await checkWritable(name, options)
  for (const { file: name, bytes: whole } of files) await writeWhole(name, whole, options)
  const written = files.map(({ file: name, bytes: { length }, mimeType }) => ({
    file: name,
    bytes: length,
    mimeType,
  }))
  printAs(invocation, { written }, () => (bytes.length > 0 ? contentText(rest) : ''))
}

function bytesOf(block: object): { readonly bytes: Buffer; readonly mimeType: string } | undefined {
  const { resource, data, blob, mimeType = 'application/octet-stream' } = block as Part
  if (resource !== undefined) return bytesOf(resource)
  const base64 = data ?? blob
  return typeof base64 === 'string' ? { bytes: Buffer.from(base64, 'base64'), mimeType } : undefined
}

/** `shot.png`, `shot-2.png`. */
function numbered(file: string, index: number): string {
  if (index === 0) return file
  const ending = extname(file)
  return `${file.slice(0, file.length - ending.length)}-${index + 1}${ending}`
}

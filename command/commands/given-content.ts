import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { UsageError } from '../base/usage-error.js'

/** Bytes that a file or standard input may have in it. */
const mostBytes = 64 * 1024 * 1024

/** What stands in a file; `-` is standard input. Rejects with UsageError. */
export async function contentOf(path: string, signal: AbortSignal, written = `@${path}`): Promise<Buffer> {
  if (path === '') throw new UsageError(`${written}: expected the name of a file, or @- for standard input`)
  if (path === '-') return await bytesOf(process.stdin, 'standard input', signal)
  try {
    return await bytesOf(createReadStream(path), path, signal)
  } catch (error) {
    if (error instanceof UsageError || signal.aborted) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`${path} cannot be read (${code}); for a text that begins with @ write @@`)
  }
}

/** The text of what was read. Throws UsageError for bytes that are none. */
export function textIn(bytes: Buffer, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageError(`${where} is no text in UTF-8`)
  }
}

async function bytesOf(stream: Readable, where: string, signal: AbortSignal): Promise<Buffer> {
  const stop = (): void => void stream.destroy(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > mostBytes) throw new UsageError(`${where} has more than ${mostBytes} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

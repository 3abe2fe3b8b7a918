import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'

/**
 * What is printed here goes to standard error, at once. Node's own streams lose what is printed before an
 * end: that of a thread goes by way of two event loops, and that of a process waits when the pipe is full.
 */
export function printToStandardError(): void {
  for (const name of ['stdout', 'stderr'] as const) {
    // Node tells the stream of a thread that there is room: it must be that one
    const stream = isMainThread ? new Writable() : process[name]
    const write = (chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void => {
      print(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
      done()
    }
    // loggers ask for `fd`, and write there themselves
    Object.assign(stream, { fd: standardError, _write: write, _writev: undefined })
    Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true })
  }
}

const standardError = 2
/** Milliseconds for whoever reads it, if that is slower; what is left is dropped then. */
const flushTimeout = 1_000

function print(chunk: Buffer): void {
  const until = performance.now() + flushTimeout
  for (let at = 0; at < chunk.length; ) {
    try {
      at += writeSync(standardError, chunk, at)
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN' && performance.now() < until
      if (!isFull) return // nobody reads it
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

import { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import { standardError, unblockStandardError } from '../faults/standard-error.js'

/**
 * What is printed here goes to standard error, at once. Node's own streams lose what is printed before an
 * end: that of a thread goes by way of two event loops, and that of a process waits when the pipe is full.
 */
export function printToStandardError(): void {
  // by Node's own stream, which is none of this process afterwards
  unblockStandardError()
  for (const name of ['stdout', 'stderr'] as const) {
    // Node tells the stream of a thread that there is room: it must be that one
    const stream = isMainThread ? new Writable() : process[name]
    const write = (chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void => {
      standardError.print(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
      done()
    }
    // loggers ask for `fd`, and write there themselves
    Object.assign(stream, { fd: 2, _write: write, _writev: undefined })
    Object.defineProperty(process, name, { value: stream, configurable: true, enumerable: true })
  }
}

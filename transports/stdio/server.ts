import type { Readable, Writable } from 'node:stream'
import {
  badOption,
  orElse,
  type Read,
  readCount,
  readDelay,
  readFlag,
  readGroup,
  readOptions,
} from '../base/read-option.js'
import type { Binding, LinkScope, ServerTransport } from '../contract/contract.js'
import { usualMessageBytes, usualPendingBytes } from '../contract/message-sizes.js'
import { bindStdioPipes } from './pipes.js'

/** How a server on standard input and output is set up. */
export interface StdioServeOptions {
  /** Where messages come from. Default `process.stdin`. */
  readonly input?: Readable
  /** Where messages go. Default `process.stdout`: whatever else writes there goes to standard error. */
  readonly output?: Writable
  /** How large messages may be, and what waits. */
  readonly limits?: StdioLimitOptions
  /** Milliseconds that requests in flight are given after the end of the input. Default 2,000. */
  readonly endTimeout?: number
  /**
   * Whether the program ends two seconds after an ended input has ended the server, even though something
   * else still holds it. Default true on `process.stdin`, otherwise false.
   */
  readonly exit?: boolean
}

/** How much a server on standard input and output takes at once. */
export interface StdioLimitOptions {
  /**
   * Bytes a message may have, in either direction: a longer request is skipped and answered with an error, a
   * longer answer becomes one. Default 16 MiB, and less where the heap of the process is small.
   */
  readonly messageBytes?: number
  /**
   * Bytes of answers that may wait for the client to read them; one that finds no room there becomes an error
   * that may be retried. At least `messageBytes`. Default an eighth of the heap that the process may have
   * (512 MiB of 4 GiB).
   */
  readonly pendingBytes?: number
}

export type StdioServeSettings = Readonly<Required<Omit<StdioServeOptions, 'limits'>>> & {
  readonly limits: Readonly<Required<StdioLimitOptions>>
}

/**
 * Serves one client over standard input and output, one message a line (specification: transports, stdio).
 * Its end of input stops the server. Reading goes on while the listener is restarted. Throws TransportError
 * BAD_OPTION.
 */
export function serveStdio(options: StdioServeOptions = {}): ServerTransport {
  const read = readOptions(options, readers)
  return Object.freeze({
    name: 'stdio',
    bind: (scope: LinkScope, before?: Binding) => {
      // the streams of the process are made when they are first read
      const { input = process.stdin, output = process.stdout } = read
      const exit = read.exit ?? input === process.stdin
      return bindStdioPipes({ ...read, input, output, exit }, scope, before)
    },
  })
}

const readInput: Read<Readable> = (value, field) => {
  if (typeof (value as Partial<Readable> | null)?.pipe === 'function') return value as Readable
  throw badOption(field, 'a readable stream', value)
}

const readOutput: Read<Writable> = (value, field) => {
  if (typeof (value as Partial<Writable> | null)?.write === 'function') return value as Writable
  throw badOption(field, 'a writable stream', value)
}

const readers = {
  input: orElse(readInput, undefined),
  output: orElse(readOutput, undefined),
  limits: readGroup({
    messageBytes: orElse(readCount, usualMessageBytes()),
    pendingBytes: orElse(readCount, usualPendingBytes()),
  }),
  endTimeout: orElse(readDelay, 2_000),
  exit: orElse(readFlag, undefined),
}

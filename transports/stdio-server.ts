import { among } from '../runtime/near.js'
import type { Readable, Writable } from 'node:stream'
import { show } from '../runtime/errors.js'
import type { Binding, LinkScope, ServerTransport } from './contract.js'
import { TransportError } from './errors.js'
import { emitTransport, originHere } from './events.js'
import { bindStdioPipes, StdioPipes } from './stdio-server-pipes.js'

/** How a server on standard input and output is set up. */
export interface StdioServeOptions {
  /** Where messages come from. Default `process.stdin`. */
  readonly input?: Readable
  /** Where messages go. Default `process.stdout`; whatever else writes there goes to standard error while the server runs. */
  readonly output?: Writable
  /** Bytes a line may have. Default 4 MiB; a longer one is answered with an error and ends the server. */
  readonly maxLineBytes?: number
  /** Milliseconds that requests in flight are given after the end of the input. Default 2,000. */
  readonly endTimeout?: number
  /**
   * Whether the program ends two seconds after an ended input has ended the server, even though something else still holds it.
   * Default true on `process.stdin`, otherwise false.
   */
  readonly exit?: boolean
}

/** Checked options with every default filled in. */
export type StdioSettings = Readonly<Required<StdioServeOptions>>

const fields = new Set(['input', 'output', 'maxLineBytes', 'endTimeout', 'exit'])

/**
 * Serves one client over standard input and output, one message a line (specification: transports, stdio). Its end of input stops
 * the server. Reading goes on while the listener is restarted. Throws TransportError BAD_OPTION.
 */
export function serveStdio(options: StdioServeOptions = {}): ServerTransport {
  checkOptions(options)
  return Object.freeze({
    name: 'stdio',
    bind: (scope: LinkScope, before?: Binding) => bind(options, scope, before),
  })
}

async function bind(
  options: StdioServeOptions,
  scope: LinkScope,
  before: Binding | undefined,
): Promise<Binding> {
  // the streams of the process are made when they are first read
  const {
    input = process.stdin,
    output = process.stdout,
    maxLineBytes = 4 * 1024 * 1024,
    endTimeout = 2_000,
    exit = input === process.stdin,
  } = options
  const pipes = await bindStdioPipes({ input, output, maxLineBytes, endTimeout, exit }, scope)
  const about = { ...originHere('stdio'), connection: 1, remoteAddress: undefined }
  emitTransport('connection', () => ({ ...about, type: 'opened' }))
  scope.own(() => emitTransport('connection', () => ({ ...about, type: 'closed' })))
  // the client on the other side goes on with its session: a store that kept it brings it back, and without it the server ends
  if (before instanceof StdioPipes) pipes.inherit(before)
  return pipes
}

function checkOptions(options: StdioServeOptions): void {
  if (typeof options !== 'object' || options === null) throw bad('options', 'an object', options)
  for (const field of Object.keys(options))
    if (!fields.has(field)) throw bad(field, among('an option', [...fields], field), field)
  const { input, output, maxLineBytes, endTimeout, exit } = options
  if (input !== undefined && typeof input?.pipe !== 'function') throw bad('input', 'a readable stream', input)
  if (output !== undefined && typeof output?.write !== 'function')
    throw bad('output', 'a writable stream', output)
  if (maxLineBytes !== undefined && !(typeof maxLineBytes === 'number' && maxLineBytes > 0))
    throw bad('maxLineBytes', 'a number above 0', maxLineBytes)
  if (endTimeout !== undefined && !(typeof endTimeout === 'number' && endTimeout >= 0))
    throw bad('endTimeout', 'milliseconds of 0 or more', endTimeout)
  if (exit !== undefined && typeof exit !== 'boolean') throw bad('exit', 'true or false', exit)
}

function bad(field: string, expected: string, got: unknown): TransportError {
  return new TransportError('BAD_OPTION', `serveStdio: ${field}: expected ${expected}, got ${show(got)}`, {
    data: { field },
  })
}

import { show } from '../../runtime/base/errors.js'
import { optionError } from '../base/errors.js'

/** Whether to start, or a function that says so at each start. */
export type StartCondition = boolean | (() => boolean)

/** Whether this may be given as `start`. */
export function isStart(value: unknown): value is StartCondition {
  return typeof value === 'boolean' || typeof value === 'function'
}

const no = new Set(['0', 'false', 'off'])

/**
 * Whether a server is to be started now: one on standard input always is, since whoever started the program
 * waits for it; otherwise the option decides, then the environment variable CADUCEUS_SERVER, then nothing
 * speaks against it. Throws what the function throws, and BAD_OPTION when it answers neither true nor false.
 */
export function isWanted({
  start,
  transport,
}: {
  readonly start: StartCondition | undefined
  readonly transport: { readonly name: string }
}): boolean {
  if (transport.name === 'stdio') return true
  if (start === undefined) return !no.has((process.env.CADUCEUS_SERVER ?? '').trim().toLowerCase())
  const wanted: unknown = typeof start === 'function' ? start() : start
  if (typeof wanted === 'boolean') return wanted
  const problem = `start: expected a function that answers true or false, got ${show(wanted)}`
  throw optionError('start', problem)
}

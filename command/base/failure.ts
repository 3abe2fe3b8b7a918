import { CaduceusError, McpError } from 'caduceus'
import { messageOf } from '../../runtime/base/errors.js'
import { exitCodes } from './usage-error.js'

/** No connection to the target came about; `cause` says why. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** A problem with its server before it, unless it names that itself. */
export function aboutServer(name: string, problem: string): string {
  // an address or a path is no word that could mean something else
  const isNamed = /[/\\]/.test(name) && problem.includes(name)
  return isNamed || problem.startsWith(`${name} `) ? problem : `${name}: ${problem}`
}

/**
 * What a failure is told as: one line, the exit code, and facts for programs. `canLogIn`: whether it may say
 * that a login helps.
 */
export function explain(
  error: unknown,
  canLogIn = true,
): {
  readonly line: string
  readonly code: number
  readonly facts: object
} {
  const chain = [...causes(error)]
  const codes = chain.map((one) => (one as { code?: unknown }).code)
  const code = exitOf(error, codes)
  const ours = chain.filter((one) => one instanceof CaduceusError || one instanceof McpError)
  // what a login is wanted for is the reason, however it was come upon
  const told = ours.findLast((one) => forbidden.includes(String(one.code))) ?? ours[0]
  const hint = code === exitCodes.forbidden && canLogIn ? loginHint : ''
  const whole = chain[0] === undefined ? String(error) : messageOf(chain[0])
  const line = `${whole.replace(forPrograms, '')}${hint}`.replace(/\s*\n\s*/g, ' ')
  const facts = told === undefined ? {} : { code: told.code, retryable: told.retryable, ...dataOf(told) }
  return { line, code, facts }
}

/** A server of fixed tokens has no login. */
const loginHint =
  '; run: caduceus login URL, or give the token that you have: --header "Authorization: Bearer TOKEN"'
/** What a program is to do; somebody who types cannot. */
const forPrograms = /: give oauth\(\) the option .*$/s
const forbidden = ['SIGN_IN_NEEDED', 'AUTHORIZATION_FAILED', 'UNAUTHORIZED', 'INSUFFICIENT_SCOPE']
const wrong = ['BAD_OPTION', 'BAD_DEFINITION']
const away = [
  'CONNECTION_LOST',
  'NOT_READY',
  'GAVE_UP',
  'PROCESS_EXITED',
  'CONNECT_FAILED',
  'SESSION_NOT_FOUND',
]

function exitOf(error: unknown, codes: readonly unknown[]): number {
  const has = (list: readonly string[]) =>
    codes.some((code) => typeof code === 'string' && list.includes(code))
  if (codes[0] === 'CANCELLED') return exitCodes.interrupted
  if (has(forbidden)) return exitCodes.forbidden
  if (error instanceof Unreachable) return exitCodes.unreachable
  if (has(wrong)) return exitCodes.usage
  return has(away) ? exitCodes.unreachable : exitCodes.failed
}

function dataOf(error: CaduceusError | McpError): object {
  return error.data === undefined ? {} : { data: error.data }
}

function* causes(error: unknown): Generator<Error> {
  // a chain that is no longer than a person reads
  for (let at = error, left = 8; at instanceof Error && left > 0; at = at.cause, left--) yield at
}

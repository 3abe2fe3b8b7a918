import { messageOf, show, optionError } from './errors.js'

/**
 * Why a process ended. `normal` and `shutdown` are expected, `crash` and `killed` are not. `noproc` is what
 * monitors and links get of a process that had ended.
 */
export type ExitReason =
  | { readonly type: 'normal' }
  | { readonly type: 'shutdown'; readonly detail?: unknown }
  | { readonly type: 'killed' }
  | { readonly type: 'noproc' }
  | { readonly type: 'noconnection'; readonly error: unknown }
  | { readonly type: 'crash'; readonly error: unknown }

/** An exit signal from outside: a reason, or `kill`. */
export type ExitRequest = ExitReason | { readonly type: 'kill' }

/** The end of a process that is done. */
export const normal: ExitReason = Object.freeze({ type: 'normal' })

/** The end that a supervisor asks of its children. */
export const shutdown: ExitReason = Object.freeze({ type: 'shutdown' })

/** The reason of a process that was killed. */
export const killed: ExitReason = Object.freeze({ type: 'killed' })

/** The reason for a process that does not exist. */
export const noproc: ExitReason = Object.freeze({ type: 'noproc' })

/** Ends a process at once; it cannot be trapped, and others see `killed`. */
export const kill: ExitRequest = Object.freeze({ type: 'kill' })

/** The reason of a process that this error ended. */
export function crash(error: unknown): ExitReason {
  return { type: 'crash', error }
}

/** A shutdown with a detail; a normal end for restarts (OTP: {shutdown, Term}). */
export function shutdownWith(detail: unknown): ExitReason {
  return { type: 'shutdown', detail }
}

/** Whether a `transient` child stays down after it (OTP: normal, shutdown, {shutdown, Term}). */
export function isNormal(reason: ExitReason): boolean {
  return reason.type === 'normal' || reason.type === 'shutdown'
}

/** A reason as a line of text, with the message of its error. */
export function formatReason(reason: ExitReason): string {
  if (reason.type !== 'crash' && reason.type !== 'noconnection') return reason.type
  return `${reason.type}: ${messageOf(reason.error)}`
}

/** Throws BAD_OPTION unless `reason` is an exit reason; `where` names what it was given to. */
export function checkReason(reason: ExitReason, where: string): void {
  check(reason, where, types)
}

/** As `checkReason`, with `kill`. */
export function checkRequest(request: ExitRequest, where: string): void {
  check(request, where, [...types, 'kill'])
}

const types = ['normal', 'shutdown', 'killed', 'noproc', 'noconnection', 'crash']

function check(value: ExitRequest, where: string, allowed: string[]): void {
  if (typeof value === 'object' && value !== null && allowed.includes(value.type)) return
  throw optionError(
    where,
    `${where}: expected { type } with a type among ${allowed.join(', ')}, got ${show(value)}`,
  )
}

import { messageOf, show, optionError } from './errors.js'

/**
 * Why a process ended. `normal` and `shutdown` are expected ends, `crash` and `killed` are not;
 * `noproc` is what a monitor or link on a process that never was, or is gone, receives.
 */
export type ExitReason =
  | { readonly type: 'normal' }
  | { readonly type: 'shutdown'; readonly detail?: unknown }
  | { readonly type: 'killed' }
  | { readonly type: 'noproc' }
  | { readonly type: 'crash'; readonly error: unknown }

/** What can be asked of a process from outside: to end with a reason, or to be killed. */
export type ExitRequest = ExitReason | { readonly type: 'kill' }

/** The end of a process that had nothing more to do. */
export const normal: ExitReason = Object.freeze({ type: 'normal' })

/** The orderly end that a supervisor asks of its children. */
export const shutdown: ExitReason = Object.freeze({ type: 'shutdown' })

/** What is left of a process that was killed. */
export const killed: ExitReason = Object.freeze({ type: 'killed' })

/** The reason given for a process that does not exist. */
export const noproc: ExitReason = Object.freeze({ type: 'noproc' })

/** Asks a process to die at once; it cannot be trapped, and others see the reason `killed`. */
export const kill: ExitRequest = Object.freeze({ type: 'kill' })

/** The end of a process by an error that it did not handle. */
export function crash(error: unknown): ExitReason {
  return { type: 'crash', error }
}

/** An orderly end with something to say, which still counts as normal for restarts. */
export function shutdownWith(detail: unknown): ExitReason {
  return { type: 'shutdown', detail }
}

/**
 * True for the ends that a `transient` child is not restarted for (OTP supervisor: normal, shutdown,
 * {shutdown, Term}).
 */
export function isNormal(reason: ExitReason): boolean {
  return reason.type === 'normal' || reason.type === 'shutdown'
}

/** The reason in a few words, for messages and logs. */
export function formatReason(reason: ExitReason): string {
  return reason.type === 'crash' ? `crash: ${messageOf(reason.error)}` : reason.type
}

/** Throws BAD_OPTION unless `reason` is an exit reason; `where` names what it was given to. */
export function checkReason(reason: ExitReason, where: string): void {
  check(reason, where, types)
}

/** As `checkReason`; what is asked of another process may also be `kill`. */
export function checkRequest(request: ExitRequest, where: string): void {
  check(request, where, [...types, 'kill'])
}

const types = ['normal', 'shutdown', 'killed', 'noproc', 'crash']

function check(value: ExitRequest, where: string, allowed: string[]): void {
  if (typeof value === 'object' && value !== null && allowed.includes(value.type)) return
  throw optionError(
    where,
    `${where}: expected { type } with a type among ${allowed.join(', ')}, got ${show(value)}`,
  )
}

import { McpError, ProtocolError } from '../../protocol/wire/errors.js'
import { messageOf, RuntimeError, show } from '../../runtime/base/errors.js'
import { AskError, ServerError, ToolError } from '../base/errors.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import type { IsolatedHandler } from '../context/isolated.js'

/** What arrives as an instance of its class on both sides; a class before the one that it extends. */
export const crossingErrors = Object.freeze({ ToolError, AskError, ServerError, McpError, ProtocolError })

/** The error of a call whose worker has ended before it had answered; `wasSent`: it may have begun. */
export function endedError(
  work: string,
  { kind }: IsolatedHandler,
  reason: ExitReason | undefined,
  wasSent: boolean,
): ServerError {
  const cause = reason !== undefined && 'error' in reason ? reason.error : undefined
  const { code, signal, why } = (cause instanceof RuntimeError ? cause.data : {}) as EndFacts
  const then = wasSent ? 'before there was an answer: part of the work may be done' : 'before the call began'
  const facts = { kind, ...(code != null && { code }), ...(signal != null && { signal }), sent: wasSent }
  return new ServerError('WORKER_ENDED', `${work}: its ${kind} ${howEnded({ code, signal, why })} ${then}`, {
    cause,
    data: why === 'memory' ? { ...facts, why } : facts,
    retryable: !wasSent,
  })
}

/** The error of a call of which an argument or the result cannot be copied; names the path in it. */
export function notCopied(work: string, { kind }: IsolatedHandler, cause: RuntimeError): RuntimeError {
  const message = messageOf(cause)
    .replace(/^.*?\brun: input\.args\[0\]/, 'the arguments')
    .replace(/^.*?\brun: reply(\.value)?/, 'the result')
  const problem = `${work}: what goes to its ${kind} and back is copied: ${message}`
  return new RuntimeError('NOT_CLONEABLE', problem, { cause, data: cause.data })
}

/** The module of a handler cannot be used. */
export function badModule(module: string, problem: string, cause?: unknown): ServerError {
  const details = { data: { field: 'module' }, ...(cause !== undefined && { cause }) }
  return new ServerError('BAD_DEFINITION', `module ${module}: ${problem}`, details)
}

export function noHandler(module: string, got: unknown): ServerError {
  return badModule(module, `expected the handler, a function, as the default export, got ${show(got)}`)
}

/** A module that is loaded ahead does not come to an end. */
export function notLoadedInTime(module: string, ms: number): ServerError {
  return badModule(module, `it did not load within ${ms} ms, so its calls load it from now on`)
}

interface EndFacts {
  readonly why?: string | undefined
  readonly code?: number | null | undefined
  readonly signal?: string | null | undefined
}

function howEnded({ why, code, signal }: EndFacts): string {
  if (why === 'memory') return 'took more memory than it may have, and was stopped'
  if (signal != null) return `ended by ${signal}`
  return code == null ? 'ended' : `ended with exit code ${code}`
}

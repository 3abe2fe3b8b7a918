import { type Refusal, refuse } from '../process/behaviour.js'
import { type Child, type ChildStarted, reportChild, startChild } from './child.js'
import type { ActorContext } from '../process/context.js'
import { messageOf, RuntimeError, show } from '../base/errors.js'
import { crash, type ExitReason, isNormal, shutdown } from '../base/exit.js'
import type { Process } from '../process/process.js'
import { shouldRestart } from './strategy.js'

/**
 * A restart that failed is tried again through the mailbox, not in a loop, so that other requests (a stop,
 * for one) get in between the attempts (OTP-47).
 */
export class Retry {
  readonly child: Child
  readonly reason: ExitReason

  constructor(child: Child, reason: ExitReason) {
    this.child = child
    this.reason = reason
  }

  /** Whether the child still waits for this attempt, and for no later one. */
  get due(): boolean {
    return this.child.retry === this
  }
}

/**
 * Notes that a child's process has ended and reports what is worth it; says whether the child is to be
 * started again.
 */
export function noteEnd(child: Child, process: Process, reason: ExitReason): boolean {
  const { restart } = child.spec
  const again = shouldRestart(restart, reason)
  child.process = null
  child.previous = process
  child.status = again ? 'restarting' : 'stopped'
  if (restart === 'permanent' || !isNormal(reason)) reportChild(child, process, 'child_terminated', reason)
  if (!again) child.settleNames(reason)
  return again
}

/** Starts a child again; undefined when that failed: the supervisor has then sent itself the next attempt. */
export async function tryRestart(child: Child, ctx: ActorContext): Promise<ChildStarted | undefined> {
  try {
    return await startChild(child, ctx, true)
  } catch (error) {
    if (child.supervisor.reason !== null) return undefined
    reportChild(child, null, 'start_error', crash(error))
    sendRetry(child, crash(error), ctx)
    return undefined
  }
}

/** Queues an attempt to restart a child, in place of any that is queued already. */
export function sendRetry(child: Child, reason: ExitReason, ctx: ActorContext): void {
  if (child.supervisor.reason !== null) return
  child.retry = new Retry(child, reason)
  ctx.self.send(child.retry)
}

/**
 * One restart too many: reports it and ends the supervisor with `shutdown`; whoever is above decides what
 * follows (OTP-55).
 */
export function giveUp(child: Child, reason: ExitReason, ctx: ActorContext): void {
  reportChild(child, null, 'shutdown', 'reached_max_restart_intensity')
  child.passNamesUp(reason)
  ctx.stop(shutdown)
}

/** The error for a child that could not be started; `cause` is what made it fail. */
export function failedToStart(id: string, error: unknown): RuntimeError {
  return new RuntimeError('START_FAILED', `child ${show(id)} failed to start: ${messageOf(error)}`, {
    cause: rootOf(error),
    data: { id },
  })
}

/** That its own start failed says no more than this error does; that a child of its did, says which. */
function rootOf(error: unknown): unknown {
  if (!(error instanceof RuntimeError && error.code === 'START_FAILED' && error.cause !== undefined))
    return error
  const ofChild = (error.data as { id?: string } | undefined)?.id !== undefined
  return ofChild ? error : error.cause
}

/** A request that cannot be met is the caller's matter: it gets the error, and the supervisor goes on. */
export async function answer<T>(request: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof RuntimeError) return refuse(error)
    throw error
  }
}

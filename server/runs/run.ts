import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { buildError } from '../../protocol/wire/jsonrpc.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Response } from '../../transports/contract/contract.js'
import type { ToolContext } from '../context/context.js'
import { toldCrash } from '../base/exposed-error.js'
import { answer, encodedResult, refusal, tryAgain, unkeptResponse } from '../requests/answer.js'
import type { Work } from '../requests/work.js'
import { callOf, isAudited } from './audited.js'
import type { RunSeat } from './seat.js'

/**
 * Runs the work of a request as a task, and returns its answer once that task has ended: a promise only where
 * the work takes a while. Undefined: it was cancelled, and nobody is answered. The promise never rejects.
 * Throws RuntimeError NOPROC without a task supervisor.
 */
export function run(work: Work, seat: RunSeat): Response | undefined | Promise<Response | undefined> {
  const { link, host } = seat
  const since = host.world.now()
  const made: Made = { response: undefined, kept: undefined }
  seat.startedAt = since
  const { name } = work
  const { request: serves } = seat.delivery
  const about = () => seat.about()
  // no spread: it costs a twentieth of a call
  const how = link === undefined ? { name, serves, about } : { name, link, serves, about }
  const task = host.tasks.start((ctx) => perform(work, seat, ctx, made), how)
  // who links to it may keep the reference for a while: then not its answer, too
  const ended = (reason: ExitReason): Response | undefined | Promise<Response | undefined> => {
    const last = { ...made }
    made.response = made.kept = undefined
    const response = outcome(work, seat, last, task.ref, reason)
    return seat.isAudited ? response : audited(seat, response)
  }
  const { reason } = task.ref
  if (reason !== undefined) return ended(reason)
  // only now: a promise and a timer cost more than most work
  seat.wait(task, since)
  return new Promise((resolve) => {
    task.ref.onExit((late) => {
      seat.stopClock()
      resolve(ended(late))
    })
  })
}

/** The progress of a run. */
interface Made {
  /** The response of the work; what follows is the server's own. */
  response: Response | undefined
  /** The same, once it may be sent. */
  kept: Response | undefined
}

function perform(work: Work, seat: RunSeat, task: TaskContext, made: Made): void | Promise<void> {
  const ctx = seat.enter(task)
  const { auditor } = seat.host.holdings
  const refusing = auditor !== undefined && isAudited(seat.delivery.request) && auditor.before(callOf(seat))
  if (!refusing) return counted(work, seat, ctx, made)
  seat.isAudited = true
  return refusing.then((response) => keep(seat, response, made))
}

function counted(work: Work, seat: RunSeat, ctx: ToolContext, made: Made): void | Promise<void> {
  const { rates } = seat.host.holdings
  if (rates === undefined || !seat.isCounted) return answered(work, seat, ctx, made)
  try {
    const taking = rates.take(seat.peer)
    if (!isPromise(taking)) return answered(work, seat, ctx, made)
    return taking.then(
      () => answered(work, seat, ctx, made),
      (error) => refused(seat, error, made),
    )
  } catch (error) {
    return refused(seat, error, made)
  }
}

function refused(seat: RunSeat, error: unknown, made: Made): void | Promise<void> {
  if (!(error instanceof McpError)) throw error
  return auditedThen(seat, refusal(seat.requestId, error, seat.dialect), made, true)
}

function answered(work: Work, seat: RunSeat, ctx: ToolContext, made: Made): void | Promise<void> {
  const { delivery, dialect, host } = seat
  const answering = answer(work, ctx, { request: delivery.request, dialect, origin: host.origin })
  if (isPromise(answering)) return answering.then((response) => auditedThen(seat, response, made))
  return auditedThen(seat, answering, made)
}

function auditedThen(seat: RunSeat, response: Response, made: Made, isRefused = false): void | Promise<void> {
  const answer = audited(seat, response, isRefused)
  return isPromise(answer) ? answer.then((late) => keep(seat, late, made)) : keep(seat, answer, made)
}

/** The answer once its entry is in the audit log, if there is one. */
function audited<Answer extends Response | undefined>(
  seat: RunSeat,
  response: Answer,
  isRefused = false,
): Answer | Promise<Answer | Response> {
  const { auditor } = seat.host.holdings
  if (auditor === undefined || !isAudited(seat.delivery.request)) return response
  seat.isAudited = true
  return auditor.answered(callOf(seat, isRefused), response)
}

function keep(seat: RunSeat, response: Response, made: Made): void | Promise<void> {
  made.response = response
  const kept = seat.keep(response)
  if (!isPromise(kept)) made.kept = kept
  else
    return kept.then((late) => {
      made.kept = late
    })
}

/** The answer to a request whose task has ended; undefined for a cancelled one, which is not answered. */
function outcome(
  work: Work,
  seat: RunSeat,
  { response, kept }: Made,
  task: ProcessRef,
  reason: ExitReason,
): Response | undefined {
  const { requestId: id, host } = seat
  if (seat.cancelled) return undefined
  if (kept !== undefined) return kept
  if (!host.tasks.ref.alive) return seat.interrupted()
  if (reason.type === 'killed' && seat.isLate) {
    const late = work.timedOut(seat.timeout)
    return late instanceof McpError ? refusal(id, late) : encodedResult(id, late)
  }
  // it was ended with its server, or by hand: nothing is wrong with it
  if (reason.type === 'killed' || reason.type === 'shutdown')
    return tryAgain(id, 'The request was interrupted')
  const told = toldCrash(task, reason, host.holdings.settings.exposeErrors)
  // once it has answered, what fails is the server's own: a store
  const result = response === undefined ? work.crashed?.(told) : undefined
  if (result !== undefined) return encodedResult(id, result)
  if (seat.unkept !== undefined) return unkeptResponse(id, seat.unkept, told.data)
  const { message, data } = told
  return buildError(id, { code: errorCodes.internalError, message, ...(data !== undefined && { data }) })
}

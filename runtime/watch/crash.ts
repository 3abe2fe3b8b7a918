import { type Actor, Message } from '../process/actor.js'
import { Entry } from '../process/program.js'
import { RuntimeError } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { badOption } from '../base/check.js'
import { handled } from '../base/promise.js'
import { type WaitOptions, waitFor } from './recording.js'
import { fence, type ProcessRef, processOf } from '../process/process.js'

/**
 * Crashes an actor or a supervisor, for tests: after the messages that wait, it handles one that throws
 * `error`. Resolves with the reason once it has ended. Rejects with NOPROC, BAD_OPTION (a task has no
 * messages), ACTOR_DEAD, or TIMEOUT when it does not come to that message.
 */
export function crashActor(ref: ProcessRef, error: unknown, options: WaitOptions = {}): Promise<ExitReason> {
  const fail = (): never => {
    throw error
  }
  const ended = waitFor<ExitReason>(
    (resolve) => {
      const actor = living(ref)
      const unwatch = ref.onExit(resolve)
      actor.deliver(new Message(new Entry('crash', 'info', fail), undefined, null))
      return unwatch
    },
    options,
    (timeout) => new RuntimeError('TIMEOUT', `${ref.name} did not crash within ${timeout} ms`),
  )
  return handled(ended)
}

function living(ref: ProcessRef): Actor {
  const process = processOf(ref)
  if (process.kind === 'task') throw badOption('crash', 'an actor or a supervisor', `task ${process.name}`)
  if (process.reason !== null)
    throw new RuntimeError('NOPROC', `${process.name} has ended (${formatReason(process.reason)})`)
  fence(process)
  return process as Actor
}

import { checkMs } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { RuntimeError } from '../base/errors.js'
import { kill } from '../base/exit.js'
import { badOption } from '../base/check.js'
import { handled } from '../base/promise.js'
import { ProcessRef, processOf } from '../process/ref.js'
import type { TaskRef } from './supervisor.js'

/** How a task ended: with a value or an error. */
export type TaskOutcome<T> =
  | { readonly type: 'ok'; readonly value: T }
  | { readonly type: 'exit'; readonly error: unknown }

/**
 * Waits for a task's value (Elixir: Task.await). Rejects with the task's error, BAD_OPTION, or TIMEOUT after
 * `timeout` ms (default 5000), which kills the task.
 */
export function awaitTask<T>(task: TaskRef<T>, timeout = 5_000): Promise<T> {
  return handled(valueWithin(task, timeout))
}

async function valueWithin<T>(task: TaskRef<T>, timeout: number): Promise<T> {
  const outcome = await yieldTask(task, timeout)
  if (outcome?.type === 'ok') return outcome.value
  if (outcome !== undefined) throw outcome.error
  task.ref.kill()
  throw new RuntimeError('TIMEOUT', `${task.ref.name}: no value within ${timeout} ms`, { retryable: true })
}

/** How a task ended, or undefined after `timeout` ms (Elixir: Task.yield). Rejects with BAD_OPTION. */
export function yieldTask<T>(task: TaskRef<T>, timeout = 5_000): Promise<TaskOutcome<T> | undefined> {
  return handled(outcomeWithin(task, timeout))
}

async function outcomeWithin<T>(task: TaskRef<T>, timeout: number): Promise<TaskOutcome<T> | undefined> {
  checkTaskRef(task)
  checkMs(timeout, 'timeout')
  const { clock } = processOf(task.ref).tree
  return waitWithin<TaskOutcome<T> | undefined>({ clock, ms: timeout, late: () => undefined }, (resolve) => {
    void outcomeOf(task).then(resolve)
  })
}

/**
 * Ends a task (Elixir: Task.shutdown). Resolves once what it owned is released: with the outcome if it had
 * ended before, else undefined. `brutal_kill` does the same: tasks do not trap exits. Rejects with
 * BAD_OPTION.
 */
export async function shutdownTask<T>(
  task: TaskRef<T>,
  how: number | 'brutal_kill' = 5_000,
): Promise<TaskOutcome<T> | undefined> {
  if (how !== 'brutal_kill' && !(typeof how === 'number' && how >= 0))
    throw badOption('shutdown', "'brutal_kill' or milliseconds of 0 or more", how)
  checkTaskRef(task)
  const process = processOf(task.ref)
  const ended = process.reason !== null
  if (how === 'brutal_kill') process.signal(null, kill)
  else task.cancel()
  await process.released
  return ended ? outcomeOf(task) : undefined
}

/** Resolves with how the task ended. Throws BAD_OPTION for what is no task. */
export function outcomeOf<T>(task: TaskRef<T>): Promise<TaskOutcome<T>> {
  checkTaskRef(task)
  return task.result.then(
    (value) => ({ type: 'ok', value }),
    (error) => ({ type: 'exit', error }),
  )
}

function checkTaskRef(task: TaskRef<unknown>): void {
  if (task?.ref instanceof ProcessRef && task.result instanceof Promise) return
  throw badOption('task', 'what start of a task supervisor returned', task)
}

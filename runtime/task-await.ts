import type { Clock } from './clock.js'
import { RuntimeError, show } from './errors.js'
import { kill } from './exit.js'
import { processOf } from './ref.js'
import type { TaskRef } from './task-supervisor.js'

/** How a task came out: with a value, or with the error that ended it. */
export type TaskOutcome<T> =
  | { readonly type: 'ok'; readonly value: T }
  | { readonly type: 'exit'; readonly error: unknown }

/**
 * Waits for a task's value (Elixir: Task.await). Rejects with what ended the task, or with TIMEOUT after `timeout` ms (default
 * 5000); the task is killed then, and a value that comes later is dropped.
 */
export async function awaitTask<T>(task: TaskRef<T>, timeout = 5_000): Promise<T> {
  const outcome = await yieldTask(task, timeout)
  if (outcome?.type === 'ok') return outcome.value
  if (outcome !== undefined) throw outcome.error
  task.ref.kill()
  throw new RuntimeError('TIMEOUT', `${task.ref.name}: no value within ${timeout} ms`, { retryable: true })
}

/** How a task came out, or undefined when it still runs after `timeout` ms (default 5000); ask again (Elixir: Task.yield). */
export function yieldTask<T>(task: TaskRef<T>, timeout = 5_000): Promise<TaskOutcome<T> | undefined> {
  return within(processOf(task.ref).tree.clock, outcomeOf(task), timeout)
}

/**
 * Ends a task and answers how it came out if it had by then, else undefined (Elixir: Task.shutdown). What the task owned has been
 * released when this resolves. `brutal_kill` is the same in one step: a task does not trap exits.
 */
export async function shutdownTask<T>(
  task: TaskRef<T>,
  how: number | 'brutal_kill' = 5_000,
): Promise<TaskOutcome<T> | undefined> {
  if (how !== 'brutal_kill' && !(typeof how === 'number' && how >= 0)) {
    throw new RuntimeError(
      'BAD_OPTION',
      `shutdown: expected 'brutal_kill' or milliseconds of 0 or more, got ${show(how)}`,
    )
  }
  const process = processOf(task.ref)
  const ended = process.reason !== null
  if (how === 'brutal_kill') process.signal(null, kill)
  else task.cancel()
  await process.released
  return ended ? outcomeOf(task) : undefined
}

/** Settles with how the task came out; never rejects. */
export function outcomeOf<T>({ result }: TaskRef<T>): Promise<TaskOutcome<T>> {
  return result.then(
    (value) => ({ type: 'ok', value }),
    (error) => ({ type: 'exit', error }),
  )
}

function within<T>(clock: Clock, promise: Promise<T>, timeout: number): Promise<T | undefined> {
  if (!Number.isFinite(timeout)) return promise
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => resolve(undefined), timeout)
    void promise.then((value) => {
      clock.clearTimeout(timer)
      resolve(value)
    })
  })
}

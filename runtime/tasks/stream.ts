import { checkMs } from '../time/clock.js'
import { RuntimeError } from '../base/errors.js'
import { badOption, checkFields, checkFunction } from '../base/check.js'
import { outcomeOf, type TaskOutcome } from './await.js'
import type { TaskContext } from './task.js'
import { type TaskRef, TaskSupervisor } from './supervisor.js'

/** How many tasks of a stream run at once, in which order they are told, and how long each may take. */
export interface AsyncStreamOptions {
  /** Tasks at once. Default 8. */
  maxConcurrency?: number
  /** Outcomes in the order of the items, or as they are ready. Default true. */
  ordered?: boolean
  /** Milliseconds one task may take. Default 5000. */
  timeout?: number
  /** A late task ends the stream with TIMEOUT (`exit`, default) or is one outcome (`kill_task`). */
  onTimeout?: 'exit' | 'kill_task'
}

interface Running<R> {
  readonly task: TaskRef<R>
  readonly outcome: Promise<TaskOutcome<R>>
}

/**
 * Runs `fn` for each item as a supervised task, several at a time, and yields the outcomes (Elixir:
 * Task.Supervisor.async_stream_nolink). A crash costs its own item. When the consumer stops early, or the
 * stream fails, running tasks end. Throws BAD_OPTION.
 */
export function asyncStream<T, R>(
  tasks: TaskSupervisor,
  items: Iterable<T> | AsyncIterable<T>,
  fn: (item: T, ctx: TaskContext) => R | Promise<R>,
  options: AsyncStreamOptions = {},
): AsyncGenerator<TaskOutcome<R>, void, void> {
  if (!(tasks instanceof TaskSupervisor)) throw badOption('tasks', 'a task supervisor', tasks)
  if (!isIterable(items)) throw badOption('items', 'something iterable', items)
  checkFunction(fn, 'fn')
  return stream(tasks, items, fn, readOptions(options))
}

function isIterable(items: unknown): boolean {
  return items != null && (Symbol.iterator in Object(items) || Symbol.asyncIterator in Object(items))
}

function readOptions(options: AsyncStreamOptions): Required<AsyncStreamOptions> {
  checkFields(options, ['maxConcurrency', 'ordered', 'timeout', 'onTimeout'])
  const { maxConcurrency = 8, ordered = true, timeout = 5_000, onTimeout = 'exit' } = options
  if (!(Number.isInteger(maxConcurrency) && maxConcurrency > 0))
    throw badOption('maxConcurrency', 'an integer above 0', maxConcurrency)
  if (typeof ordered !== 'boolean') throw badOption('ordered', 'a boolean', ordered)
  checkMs(timeout, 'timeout')
  if (onTimeout !== 'exit' && onTimeout !== 'kill_task')
    throw badOption('onTimeout', "'exit' or 'kill_task'", onTimeout)
  return { maxConcurrency, ordered, timeout, onTimeout }
}

async function* stream<T, R>(
  tasks: TaskSupervisor,
  items: Iterable<T> | AsyncIterable<T>,
  fn: (item: T, ctx: TaskContext) => R | Promise<R>,
  { maxConcurrency, ordered, timeout, onTimeout }: Required<AsyncStreamOptions>,
): AsyncGenerator<TaskOutcome<R>, void, void> {
  const running = new Set<Running<R>>()
  try {
    for await (const item of items) {
      running.add(run(tasks, fn, item, timeout))
      if (running.size >= maxConcurrency) yield take(await next(running, ordered), onTimeout, timeout)
    }
    while (running.size > 0) yield take(await next(running, ordered), onTimeout, timeout)
  } finally {
    for (const { task } of running) task.cancel()
  }
}

function run<T, R>(
  tasks: TaskSupervisor,
  fn: (item: T, ctx: TaskContext) => R | Promise<R>,
  item: T,
  timeout: number,
): Running<R> {
  const task = tasks.start((ctx) => fn(item, ctx), { timeout, name: 'async_stream' })
  return { task, outcome: outcomeOf(task) }
}

async function next<R>(running: Set<Running<R>>, ordered: boolean): Promise<TaskOutcome<R>> {
  const [oldest] = running
  if (oldest === undefined) throw new RuntimeError('NOT_FOUND', 'no task is running')
  const first = ordered
    ? oldest
    : await Promise.race([...running].map((each) => each.outcome.then(() => each)))
  const outcome = await first.outcome
  running.delete(first)
  return outcome
}

function take<R>(outcome: TaskOutcome<R>, onTimeout: 'exit' | 'kill_task', timeout: number): TaskOutcome<R> {
  if (onTimeout === 'exit' && outcome.type === 'exit' && wasKilled(outcome.error)) {
    throw new RuntimeError('TIMEOUT', `async_stream: a task took longer than ${timeout} ms`, {
      cause: outcome.error,
      retryable: true,
    })
  }
  return outcome
}

function wasKilled(error: unknown): boolean {
  if (!(error instanceof RuntimeError) || error.code !== 'EXITED') return false
  return (error.data as { reason?: { type?: string } }).reason?.type === 'killed'
}

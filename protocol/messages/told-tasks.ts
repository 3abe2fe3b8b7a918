import { isObject, type JsonObject, kindOf } from '../wire/json.js'
import { metaField } from './base.js'
import { type InputRequests, inputRequiredResult } from './input-required.js'
import { badMessage } from './params.js'
import { type Check, finite, kind, listOf, oneOf, optional, type Problem, shape, text } from './shape.js'
import type { CreateTaskResult, DetailedTask, ExtensionTask, Task, TaskStatus } from './tasks.js'

/** What a peer tells of a task, in the words of 2025-11-25, and what 2026-07-28 tells besides. */
export interface ToldTask {
  readonly task: Task
  /** With `input_required` (2026-07-28). */
  readonly inputRequests?: InputRequests
  /** With `completed` (2026-07-28): the result of the request that became the task. */
  readonly result?: JsonObject
  /** With `failed` (2026-07-28). */
  readonly error?: NonNullable<DetailedTask['error']>
}

/** One page of `tasks/list` (2025-11-25). */
export interface ListTasksResult {
  tasks: Task[]
  nextCursor?: string
}

const status = oneOf('working', 'input_required', 'completed', 'failed', 'cancelled')
const facts = {
  taskId: text,
  status,
  statusMessage: optional(text),
  createdAt: text,
  lastUpdatedAt: text,
}
const lifetime = kind<number | null>('a number or null', (value) => value === null || Number.isFinite(value))
const task = shape<Task>({ ...facts, ttl: lifetime, pollInterval: optional(finite) })
const extensionTask = shape<ExtensionTask>({ ...facts, ttlMs: lifetime, pollIntervalMs: optional(finite) })
const created = shape<CreateTaskResult>({ task, ...metaField })
const page = shape<ListTasksResult>({ tasks: listOf(task), nextCursor: optional(text) })

/** The answer to a request that asked to be run as a task (2025-11-25). Throws BAD_RESULT. */
export function readCreatedTask(method: string, result: JsonObject): ToldTask {
  const { task: given } = read(created, method, result)
  return { task: taskOf(given) }
}

/** The answer to `tasks/get` (2025-11-25). Throws BAD_RESULT. */
export function readTask(method: string, result: JsonObject): ToldTask {
  return { task: taskOf(read(task, method, result)) }
}

/** The answer to `tasks/list` (2025-11-25). Throws BAD_RESULT. */
export function readTaskPage(method: string, result: JsonObject): ListTasksResult {
  return read(page, method, result)
}

/**
 * A task of the extension (2026-07-28), as `tools/call` and `tasks/get` answer it: one that is over has its
 * result or its error. Throws BAD_RESULT.
 */
export function readExtensionTask(method: string, given: JsonObject): ToldTask {
  const { ttlMs, pollIntervalMs, ...rest } = read(extensionTask, method, given)
  const told = taskOf({
    ...rest,
    ttl: ttlMs,
    ...(pollIntervalMs !== undefined && { pollInterval: pollIntervalMs }),
  })
  // a task that was just made has neither questions nor an outcome: the first look tells them
  if (method === 'tools/call') return { task: told }
  switch (told.status) {
    case 'input_required':
      return { task: told, inputRequests: readQuestions(method, given) }
    case 'completed':
      return { task: told, result: readOutcome(method, given) }
    case 'failed':
      return { task: told, error: readError(method, given) }
    default:
      return { task: told }
  }
}

/** Whether it is over for good (specification: tasks). */
export function isOver(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Without the fields of the message around it. */
function taskOf({ taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, pollInterval }: Task): Task {
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttl,
    ...(pollInterval !== undefined && { pollInterval }),
  }
}

function readQuestions(method: string, { inputRequests = {} }: JsonObject): InputRequests {
  const problem = inputRequiredResult({ inputRequests })
  if (problem !== undefined) throw badMessage('BAD_RESULT', method, problem)
  return inputRequests as InputRequests
}

function readOutcome(method: string, { result }: JsonObject): JsonObject {
  if (isObject(result)) return result
  throw badMessage('BAD_RESULT', method, lacking('result', 'the result of a completed task', result))
}

function readError(method: string, { error }: JsonObject): NonNullable<DetailedTask['error']> {
  if (isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string')
    return error as NonNullable<DetailedTask['error']>
  throw badMessage('BAD_RESULT', method, lacking('error', 'the error of a failed task', error))
}

function lacking(field: string, expected: string, got: unknown): Problem {
  return { path: `.${field}`, expected, got: kindOf(got) }
}

function read<T>(check: Check<T>, method: string, result: JsonObject): T {
  const problem = check(result)
  if (problem !== undefined) throw badMessage('BAD_RESULT', method, problem)
  return result as T
}

import { errorCodes, McpError } from '../wire/errors.js'
import type { JsonObject } from '../wire/json.js'
import type { Meta } from './base.js'
import type { InputRequests } from './input-required.js'

/** The identifier of the extension for tasks (2026-07-28). */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** The key of `_meta` that names the task of a message (2025-11-25, tasks). */
export const relatedTask = 'io.modelcontextprotocol/related-task'

/** How far a task is. The last three are for good (specification: tasks). */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** What both revisions say of a task. */
export interface TaskFacts {
  taskId: string
  status: TaskStatus
  /** For people: what it does now, or why it ended so. */
  statusMessage?: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUpdatedAt: string
}

/** A task as 2025-11-25 tells it. */
export interface Task extends TaskFacts {
  /** Milliseconds from its creation until it may be forgotten; null: never. */
  ttl: number | null
  /** Milliseconds between two looks at it. */
  pollInterval?: number
}

/** The answer to a request that became a task (2025-11-25). */
export interface CreateTaskResult {
  task: Task
  _meta?: Meta
}

/** A task as 2026-07-28 tells it (extension `io.modelcontextprotocol/tasks`). */
export interface ExtensionTask extends TaskFacts {
  /** As `ttl` of a `Task`. */
  ttlMs: number | null
  pollIntervalMs?: number
}

/** A task with what there is to know of it: questions, or the outcome (2026-07-28). */
export interface DetailedTask extends ExtensionTask {
  /** With `input_required`: what the client is to ask, by key. */
  inputRequests?: InputRequests
  /** With `completed`: the result of the request that became the task. */
  result?: JsonObject
  /** With `failed`. */
  error?: { code: number; message: string; data?: unknown }
}

/** The `taskId` of a request about a task. Throws McpError -32602. */
export function readTaskId(method: string, params: JsonObject | undefined): string {
  const taskId = params?.taskId
  if (typeof taskId === 'string') return taskId
  throw new McpError(errorCodes.invalidParams, `${method}: params.taskId: expected a string`)
}

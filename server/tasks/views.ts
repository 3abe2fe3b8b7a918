import type { Dialect } from '../../protocol/dialects/dialect.js'
import { modernDialectOf } from '../../protocol/dialects/versions.js'
import type { InputRequests } from '../../protocol/messages/input-required.js'
import type {
  DetailedTask,
  ExtensionTask,
  Task,
  TaskFacts,
  TaskStatus,
} from '../../protocol/messages/tasks.js'
import { isObject } from '../../protocol/wire/json.js'
import type { TaskSettings } from '../holdings/task-options.js'
import type { TaskRecord } from '../engine/task-store.js'

/**
 * How far a task is, in the words of a revision: one whose tool has failed (`isError`) is `failed` in
 * 2025-11-25, and `completed` in 2026-07-28.
 */
export function statusOf({ end, asked }: TaskRecord, { handshake }: Dialect): TaskStatus {
  if (end === undefined) return asked.length > 0 ? 'input_required' : 'working'
  if (end.type === 'cancelled') return 'cancelled'
  return end.type === 'error' || (handshake && end.result.isError === true) ? 'failed' : 'completed'
}

/** A task in 2025-11-25. */
export function toTask(record: TaskRecord, dialect: Dialect, pollInterval: number): Task {
  return { ...factsOf(record, dialect), ttl: record.ttl, pollInterval }
}

/** A task in 2026-07-28, without what there is to know of it: the answer to the call that became it. */
export function toExtensionTask(record: TaskRecord, dialect: Dialect, pollIntervalMs: number): ExtensionTask {
  return { ...factsOf(record, dialect), ttlMs: record.ttl, pollIntervalMs }
}

export function toDetailedTask(record: TaskRecord, dialect: Dialect, pollInterval: number): DetailedTask {
  const { end, asked } = record
  const task = toExtensionTask(record, dialect, pollInterval)
  if (end?.type === 'result') return { ...task, result: end.result }
  if (end?.type === 'error') return { ...task, error: end.error }
  if (end !== undefined || asked.length === 0) return task
  const questions = asked.map(({ id, method, params }) => [id, { method, params }])
  return { ...task, inputRequests: Object.fromEntries(questions) as InputRequests }
}

const modern = modernDialectOf('2026-07-28') as Dialect

/** The params of `notifications/tasks`. */
export function taskNotice(record: TaskRecord, settings: TaskSettings | undefined): object {
  return toDetailedTask(record, modern, settings?.pollInterval ?? 0)
}

/** Whether clients are notified of the change between two records. */
export function isNews(before: TaskRecord, record: TaskRecord): boolean {
  return before.asked !== record.asked || before.end !== record.end
}

/** The same, between two records of which one was read from a store. */
export function hasNews(before: TaskRecord, record: TaskRecord): boolean {
  const ids = ({ asked }: TaskRecord): string => JSON.stringify(asked.map(({ id }) => id))
  return ids(before) !== ids(record) || (before.end === undefined) !== (record.end === undefined)
}

function factsOf(record: TaskRecord, dialect: Dialect): TaskFacts {
  const { id, createdAt, updatedAt } = record
  const statusMessage = messageOf(record)
  return {
    taskId: id,
    status: statusOf(record, dialect),
    ...(statusMessage !== undefined && statusMessage !== '' && { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
  }
}

const maxMessage = 1_000

function messageOf({ end, statusMessage }: TaskRecord): string | undefined {
  if (end?.type === 'error') return end.error.message.slice(0, maxMessage)
  if (end?.type !== 'result' || end.result.isError !== true) return statusMessage
  const [first] = Array.isArray(end.result.content) ? end.result.content : []
  return isObject(first) && typeof first.text === 'string' ? first.text.slice(0, maxMessage) : statusMessage
}

import type { Question } from '../../protocol/dialects/capabilities.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcError } from '../../protocol/wire/errors.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { AskErrorCode } from '../base/errors.js'
import type { Principal } from '../../transports/contract/principal.js'

/** A question that a task waits with. */
export interface TaskQuestion {
  /** What clients answer it by: no two questions of a task have the same. */
  readonly id: string
  /** The author's key. */
  readonly key: string
  readonly method: Question
  readonly params: object
}

/** The answer of the client to a question, or why there is none (a code of AskError). */
export type TaskAnswer =
  | { readonly method: Question; readonly result: JsonObject }
  | { readonly method: Question; readonly refused: { readonly code: AskErrorCode; readonly message: string } }

/** How a task has ended. */
export type TaskEnd =
  | { readonly type: 'result'; readonly result: JsonObject }
  | { readonly type: 'error'; readonly error: JsonRpcError }
  | { readonly type: 'cancelled' }

/** A task as it is stored, to go on after the death of its actor or of the program. Plain JSON. */
export interface TaskRecord {
  readonly id: string
  /** Grows with every record of a task: a store keeps the record with the highest version. */
  readonly version: number
  /** Whose it is, as a digest; absent if no principal made it. */
  readonly owner?: string
  /** Who made it, for the handler (`ctx.principal`): nothing secret of its token is kept. */
  readonly principal?: Principal
  /** The listener that it came through, and whether its caller is trusted (stdio). */
  readonly transport: string
  readonly trusted?: true
  /** The revision, and the client, of the request that became the task. */
  readonly revision: string
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
  /** The params of that request (`tools/call`). */
  readonly params: JsonObject
  /** In ms since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** Milliseconds from its creation until it is deleted. */
  readonly ttl: number
  readonly statusMessage?: string
  /** How often the handler has begun since the task last got ahead. */
  readonly begun: number
  /** The finished steps (`ctx.once`): the JSON of their values by key; null for a step without a value. */
  readonly steps: readonly (readonly [key: string, text: string | null])[]
  /** All answers by the author's key, in the order they came. */
  readonly answers: readonly (readonly [key: string, answers: readonly TaskAnswer[]])[]
  /** The questions that are not answered. */
  readonly asked: readonly TaskQuestion[]
  /** Absent as long as it is at work. */
  readonly end?: TaskEnd
}

/**
 * Stores tasks: before their creation is answered, and before anything is told of what has changed. A method
 * that throws, rejects, or takes more than 5 s fails what was to be saved; an end is saved again until it is.
 */
export interface TaskStore {
  /** Whether tasks outlive the program: then those that were at work go on at its next start. Default false. */
  readonly durable?: boolean
  /** Answers undefined if there is none. */
  load(id: string): TaskRecord | undefined | Promise<TaskRecord | undefined>
  save(record: TaskRecord): unknown
  delete(id: string): unknown
  /** All records, at the start of a server. */
  list(): Iterable<TaskRecord> | AsyncIterable<TaskRecord>
}

/** A store in memory: tasks survive what dies in the program, and not the program's end. */
export function createMemoryTaskStore(): TaskStore {
  const kept = new Map<string, TaskRecord>()
  return {
    load: (id) => kept.get(id),
    save(record) {
      kept.set(record.id, record)
    },
    delete(id) {
      kept.delete(id)
    },
    list: () => [...kept.values()],
  }
}

/** Whether a task can go on from this value: stores are written by others, too. */
export function isTaskRecord(value: unknown): value is TaskRecord {
  if (!isObject(value)) return false
  const { id, version, owner = '', transport, revision, client, capabilities, params, end } = value
  const { createdAt, updatedAt, ttl, begun, steps, answers, asked } = value
  return (
    [id, owner, transport, revision].every((text) => typeof text === 'string') &&
    [version, createdAt, updatedAt, ttl, begun].every(Number.isFinite) &&
    [client, capabilities, params].every(isObject) &&
    [steps, answers, asked].every(Array.isArray) &&
    (end === undefined || isObject(end))
  )
}

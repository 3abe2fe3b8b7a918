import type { JsonObject } from '../../protocol/wire/json.js'
import type { AskErrorCode } from '../base/errors.js'
import type { TaskStore } from './task-store.js'

/** What another node asks the one that runs a task to do with it. */
export type TaskCommand =
  | { readonly do: 'cancel' }
  /** What its client says to its questions. */
  | { readonly do: 'answer'; readonly responses: JsonObject }
  /** A question cannot be answered. */
  | {
      readonly do: 'refuse'
      readonly question: { readonly id: string; readonly code: AskErrorCode; readonly message: string }
    }

/** The node that runs tasks, as their store sees it. */
export interface TaskRunner {
  /** False: the task is not at work here. Rejects with McpError for a bad answer. */
  run(id: string, command: TaskCommand): Promise<boolean>
  /** Other nodes have taken these tasks over: this node saves nothing of them any more. */
  lost(ids: readonly string[]): void
}

/** One of a list, and its place there. */
export interface ListedTask {
  readonly id: string
  readonly place: number
}

/**
 * A store that several nodes share, each of which works on some of its tasks: those that it has saved first, or
 * adopted. It saves and deletes no other. What was saved as ended is nobody's.
 */
export interface SharedTaskStore extends TaskStore {
  /** Whether this node may read and save at the moment. */
  readonly isServing: boolean
  /** Milliseconds that a save may wait for the engine to come back. */
  readonly saveTimeout: number
  /** The tasks that this node has to work on. */
  readonly held: readonly string[]
  /** Up to `max` tasks at work whose node has ended; none for a node that is about to end. */
  orphans(max: number): Promise<readonly string[]>
  /**
   * Whether this node works on the task from now on, or does already: not if another one does, or it has
   * ended.
   */
  adopt(id: string): Promise<boolean>
  /** Sends a command to the node that runs the task. False: perhaps nobody did it. */
  send(id: string, command: TaskCommand): Promise<boolean>
  /** Whether this node is about to end: nobody waits here any more. */
  readonly isLeaving: boolean
  /** Resolves all that wait in `changed`. */
  sendAway(): void
  /**
   * Resolves when the version of the record is another one, up to half a second later; when `signal` aborts; and at
   * `sendAway`.
   */
  changed(id: string, version: number, signal: AbortSignal): Promise<void>
  /** The tasks of an owner, by when their time is over; after one of them, if it is given. */
  page(owner: string, after: ListedTask | undefined, size: number): Promise<readonly ListedTask[]>
  /** Attaches the runner of this node's tasks, until the returned function is called. */
  attach(runner: TaskRunner): () => void
}

import { type ListTasksResult, readTaskPage } from '../../protocol/messages/told-tasks.js'
import type { Task } from '../../protocol/messages/tasks.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import { handledLate } from '../../runtime/base/promise.js'
import { readText } from '../base/read-options.js'
import { type CallOptions, readCallOptions, type ToolCallOptions } from '../options/call-options.js'
import { isUnknown, lostTask, withTask } from '../tasks/errors.js'
import { checked, readTold } from '../tasks/told.js'
import { type PageOptions, readPageOptions } from './pages.js'
import type { ClientParts } from './parts.js'
import { whenReady } from './ready.js'
import type { Requests } from './requests.js'
import type { ToolResult } from './results.js'
import { hasTasks, type StartedTask, unsupported } from './task-runs.js'

/**
 * Tools that are run as tasks (specification: tasks; 2026-07-28: extension `io.modelcontextprotocol/tasks`), for
 * programs that come back for the result. `callTool` needs none of this. All reject with NOT_SUPPORTED where
 * the server has no tasks. Methods work unbound.
 */
export class Tasks {
  readonly #parts: ClientParts
  readonly #requests: Requests

  constructor(parts: ClientParts, requests: Requests) {
    bindMethods(this, methods)
    this.#parts = parts
    this.#requests = requests
  }

  /**
   * Runs a tool as a task, and resolves when the server has begun it. Rejects with NOT_SUPPORTED where the tool
   * may not be a task (2025-11-25). A server of 2026-07-28 decides itself, and may answer the result.
   */
  start(name: string, args?: Record<string, unknown>, options?: ToolCallOptions): Promise<StartedTask> {
    return handledLate(this.#requests.startTool(name, args, options))
  }

  /** The task as it is now. Rejects with TASK_LOST when the server does not know it. */
  get(taskId: string, options?: CallOptions): Promise<Task> {
    return handledLate(this.#get(taskId, options))
  }

  /**
   * Waits until the task is over, also across connections, and resolves as `callTool` does; what the server
   * asks meanwhile is answered. Who gives the wait up (`timeout`, `signal`) leaves the task as it is. Rejects
   * with TASK_LOST, and with TASK_CANCELLED.
   */
  result(taskId: string, options?: CallOptions): Promise<ToolResult> {
    return handledLate(this.#finish('tasks.result', taskId, options))
  }

  /**
   * Takes over a call of another program, or of an earlier run of this one: as `result`, but its `timeout` and
   * its `signal` cancel the task, as those of `callTool` do.
   */
  adopt(taskId: string, options?: CallOptions): Promise<ToolResult> {
    return handledLate(this.#finish('tasks.adopt', taskId, options))
  }

  /** One page of this user's tasks. NOT_SUPPORTED in 2026-07-28, which has no such list. */
  list(options: PageOptions = {}, ...others: never[]): Promise<ListTasksResult> {
    return handledLate(this.#list(options, others))
  }

  /**
   * Asks the server to cancel it. In 2025-11-25 it is cancelled then, or the call rejects with McpError -32602
   * because it is over; in 2026-07-28 it may still complete.
   */
  cancel(taskId: string, options?: CallOptions): Promise<void> {
    return handledLate(this.#cancel(taskId, options))
  }

  async #get(taskId: string, options: CallOptions | undefined): Promise<Task> {
    readText(taskId, 'taskId')
    const left = await this.#supported('tasks.get', '', options)
    const answer = await this.#requests.ask('tasks/get', { taskId }, left).catch((error: unknown) => {
      throw isUnknown(error) ? withTask(lostTask('tasks.get', error, false), taskId, false) : error
    })
    return readTold('tasks/get', answer).task
  }

  async #finish(
    what: 'tasks.result' | 'tasks.adopt',
    taskId: string,
    options: CallOptions | undefined,
  ): Promise<ToolResult> {
    readText(taskId, 'taskId')
    const left = await this.#supported(what, '', options)
    return await this.#requests.finishTask(taskId, left, { what, owns: what === 'tasks.adopt' })
  }

  async #list(options: PageOptions, others: readonly unknown[]): Promise<ListTasksResult> {
    const { page, call } = readPageOptions(options, others)
    const left = await this.#supported('tasks.list', 'list', call)
    const { result } = await this.#requests.ask('tasks/list', page as JsonObject, left)
    return checked(() => readTaskPage('tasks/list', result))
  }

  async #cancel(taskId: string, options: CallOptions | undefined): Promise<void> {
    readText(taskId, 'taskId')
    const left = await this.#supported('tasks.cancel', 'cancel', options)
    await this.#requests.ask('tasks/cancel', { taskId }, left)
  }

  /** What is left of the time once the server is known to have this. */
  async #supported(what: string, part: '' | 'list' | 'cancel', options: CallOptions | undefined) {
    const { holdings, settings } = this.#parts
    const { timeout, signal, wait } = readCallOptions(options, settings.timeout)
    const began = holdings.world.now()
    if (holdings.server === undefined && wait)
      await whenReady(this.#parts, { timeout, ...(signal !== undefined && { signal }) })
    const { server } = holdings
    if (server !== undefined && !hasTasks(server, part)) throw unsupported(what, server)
    return { ...options, timeout: Math.max(1, timeout - (holdings.world.now() - began)) }
  }
}

const methods = methodNames(Tasks)

import { orElse } from '../../runtime/base/read-options.js'
import { readersOf } from '../base/read-options.js'
import type { ToolDefinition } from '../definitions/define-tool.js'

/** How the tasks of a server are bounded (`task` of a tool). Where they are is said by `engine`. */
export interface TasksOptions {
  /**
   * Milliseconds from its creation until a task is deleted, unless its client asks for more or less. Default
   * 1 h.
   */
  readonly ttl?: number
  /** The most that a client gets. Default 24 h. */
  readonly maxTtl?: number
  /** Tasks at once, those that have ended and are kept included; more are refused. Default 10,000. */
  readonly maxTasks?: number
  /**
   * Tasks of one client at once: of a principal, or else of an address. Default 1,000, without a limit for
   * anonymous clients of this machine.
   */
  readonly maxTasksPerClient?: number
  /** Bytes of one task as it is stored: its arguments, steps, answers, and its result. Default 1 MiB. */
  readonly maxBytes?: number
  /** Bytes of all tasks. Default 256 MiB. */
  readonly maxTotalBytes?: number
  /** Milliseconds that clients are told to wait between two looks at a task. Default 1,000. */
  readonly pollInterval?: number
}

export type TaskSettings = ReturnType<typeof readTasks>

const { badOption, readCount, readGroup, readLimit } = readersOf()
const hour = 60 * 60_000
/** Milliseconds that a timer of Node can be set to. */
const longest = 2 ** 31 - 1

const readLimits = readGroup({
  ttl: orElse(readCount, hour),
  maxTtl: orElse(readCount, 24 * hour),
  maxTasks: orElse(readLimit, 10_000),
  maxTasksPerClient: orElse(readLimit, undefined),
  maxBytes: orElse(readLimit, 1_048_576),
  maxTotalBytes: orElse(readLimit, 256 * 1_048_576),
  pollInterval: orElse(readCount, 1_000),
})

/** Reads the option `tasks`. Throws BAD_OPTION. */
export function readTasks(value: unknown, field: string) {
  const read = readLimits(value, field)
  const { ttl, maxTtl } = read
  if (maxTtl > longest)
    throw badOption(`${field}.maxTtl`, `${longest} ms at most, as long as a timer runs`, maxTtl)
  return Object.freeze({ ...read, ttl: Math.min(maxTtl, ttl) })
}

/** Without the option; undefined where no tool runs as a task. */
export function tasksFor(tools: readonly ToolDefinition[]): TaskSettings | undefined {
  return tools.every(({ task }) => task === 'forbidden') ? undefined : readTasks({}, 'tasks')
}

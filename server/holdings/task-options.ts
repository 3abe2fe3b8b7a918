import { isObject } from '../../protocol/wire/json.js'
import { readersOf } from '../base/read-options.js'
import type { ToolDefinition } from '../definitions/define-tool.js'

/** How the tasks of a server are bounded (`task` of a tool). Where they are is said by `engine`. */
export interface TasksOptions {
  /** Milliseconds from its creation until a task is deleted, unless its client asks for more or less. Default 1 h. */
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

export type TaskSettings = ReturnType<typeof readLimits>

const { badOption, readCount, readFields, readLimit } = readersOf()
const fields = ['ttl', 'maxTtl', 'maxTasks', 'maxTasksPerClient', 'maxBytes', 'maxTotalBytes', 'pollInterval']
const hour = 60 * 60_000
/** Milliseconds that a timer of Node can be set to. */
const longest = 2 ** 31 - 1

/**
 * Reads the option `tasks`; undefined where there is neither it nor a tool that runs as one.
 * Throws BAD_OPTION.
 */
export function readTasks(option: unknown, tools: readonly ToolDefinition[]): TaskSettings | undefined {
  if (option === undefined && tools.every(({ task }) => task === 'forbidden')) return undefined
  return readLimits(option ?? {})
}

function readLimits(option: unknown) {
  if (!isObject(option)) throw badOption('tasks', 'an object', option)
  const given = readFields(option, 'tasks', fields, 'tasks.')
  const { ttl, maxTtl, maxTasks, maxTasksPerClient, maxBytes, maxTotalBytes, pollInterval } = given
  const most = readCount(maxTtl, 'tasks.maxTtl', 24 * hour)
  if (most > longest) throw badOption('tasks.maxTtl', `${longest} ms at most, as long as a timer runs`, most)
  return Object.freeze({
    ttl: Math.min(most, readCount(ttl, 'tasks.ttl', hour)),
    maxTtl: most,
    maxTasks: readLimit(maxTasks, 'tasks.maxTasks', 10_000),
    maxTasksPerClient:
      maxTasksPerClient === undefined ? undefined : readLimit(maxTasksPerClient, 'tasks.maxTasksPerClient'),
    maxBytes: readLimit(maxBytes, 'tasks.maxBytes', 1_048_576),
    maxTotalBytes: readLimit(maxTotalBytes, 'tasks.maxTotalBytes', 256 * 1_048_576),
    pollInterval: readCount(pollInterval, 'tasks.pollInterval', 1_000),
  })
}

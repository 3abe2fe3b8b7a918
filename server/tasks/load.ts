import type { Registry } from '../../runtime/process/registry.js'
import type { World } from '../../runtime/time/world.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { Tell } from './mcp-task.js'
import type { McpTasks } from './tasks.js'

/**
 * Undefined where no tool runs as a task. `tell` says something to the client of a session. The module is
 * loaded by the supervisor of tasks, which starts before all who serve requests.
 */
export function tasksOf(
  holdings: Holdings,
  registry: Registry,
  world: World,
  tell?: Tell,
): McpTasks | undefined {
  const { settings, taskStore } = holdings
  const loaded = settings.parts.tasks?.loaded() as typeof import('./tasks.js') | undefined
  if (settings.tasks === undefined || taskStore === undefined || loaded === undefined) return undefined
  return new loaded.McpTasks({ holdings, settings: settings.tasks, store: taskStore, registry, world, tell })
}

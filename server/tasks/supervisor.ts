import { type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import { dynamicSupervisorSpec } from '../../runtime/supervision/dynamic.js'
import { supervisorSpec } from '../../runtime/supervision/supervise.js'
import { taskSupervisorSpec } from '../../runtime/tasks/supervisor.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { drainActor } from './drain.js'
import { ledgerActor } from './ledger.js'

/**
 * The processes of a server's tasks, outside of its group: restarts of the group, of sessions and of
 * connections cost no task. If one of them dies, all begin anew, and the ledger has those go on that were at work.
 */
export function mcpTasksSpec(holdings: Holdings, stopping: () => boolean): ChildSpec {
  const { settings, taskStore: store } = holdings
  const { names, tasks } = settings
  const children =
    tasks === undefined || store === undefined
      ? []
      : [
          taskSupervisorSpec({ name: 'runs' }, { name: names.taskRuns, shutdown: 'brutal_kill' }),
          dynamicSupervisorSpec({ name: 'live' }, { name: names.liveTasks }),
          childSpec(ledgerActor, { holdings, settings: tasks, store }, { name: names.ledger }),
          childSpec(drainActor, { holdings, stopping }, { shutdown: settings.timeouts.drain + 1_000 }),
        ]
  return supervisorSpec({ name: 'mcp-tasks', strategy: 'one_for_all', children }, { name: names.mcpTasks })
}

import {
  type ExitReason,
  type RootOptions,
  type RuntimeError,
  type Supervisor,
  type TaskSupervisor,
  type TaskSupervisorOptions,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import type { TestContext } from '../../support/suite.js'
import { Recorder, startTree, worker, type WorkerRef } from '../_family.js'

/** A tree with an actor and a task supervisor. */
export interface Place {
  tree: Supervisor
  tasks: TaskSupervisor
  log: Recorder
  neighbour: WorkerRef
}

/** Starts them on a silent tree that ends with the test. */
export async function place(
  t: TestContext,
  options: TaskSupervisorOptions = {},
  root: RootOptions = {},
): Promise<Place> {
  const log = new Recorder()
  const tree = await startTree(t, { strategy: 'one_for_one', ...root })
  const neighbour = (await tree.startChild(worker(log, 'neighbour'))).ref as WorkerRef
  const { extra } = await tree.startChild(taskSupervisorSpec(options))
  log.rest()
  return { tree, tasks: extra as TaskSupervisor, log, neighbour }
}

/** The reason an EXITED error carries. */
export function reasonOf(error: RuntimeError): ExitReason {
  return (error.data as { reason: ExitReason }).reason
}

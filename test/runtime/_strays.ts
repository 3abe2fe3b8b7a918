import * as assert from 'uvu/assert'
import {
  type RootOptions,
  type StrayEvent,
  type Supervisor,
  type TaskContext,
  type TaskSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { processOf } from '../../runtime/process/ref.js'
import type { TestContext } from '../support/suite.js'
import { gather, Recorder, startTree, turn, worker, type WorkerRef } from './_family.js'

/** Since Node 24 async context is kept by V8: the cases in which that makes a difference ask for it. */
export const contextInV8 = Number(process.versions.node.split('.')[0]) >= 24

/** A tree in which requests run as tasks beside an actor and a task that nothing may happen to. */
export interface Scene {
  readonly tree: Supervisor
  readonly tasks: TaskSupervisor
  readonly neighbour: WorkerRef
  /** Stray errors as events tell of them. */
  readonly strays: StrayEvent[]
  /** The actor and the task beside are as they were, and no error was left to nobody. */
  untouched(): Promise<void>
}

export async function scene(t: TestContext, root: RootOptions = {}): Promise<Scene> {
  const log = new Recorder()
  const strays = gather(t, 'stray')
  const tree = await startTree(t, { strategy: 'one_for_one', intensity: 0, ...root })
  const neighbour = (await tree.startChild(worker(log, 'neighbour'))).ref as WorkerRef
  const tasks = (await tree.startChild(taskSupervisorSpec())).extra as TaskSupervisor
  const beside = tasks.start(() => new Promise(() => {}), { name: 'beside' })
  const untouched = async (): Promise<void> => {
    assert.is(await neighbour.call('id'), 'neighbour')
    assert.ok(beside.ref.alive && tasks.ref.alive && tree.ref.alive)
    assert.is(processOf(tree.ref).tree.strays, 0)
  }
  return { tree, tasks, neighbour, strays, untouched }
}

/** Runs code in a request task that never answers, and resolves with the error that ended it. */
export async function straysInTask(
  { tasks }: Scene,
  code: (ctx: TaskContext) => unknown,
  name = 'request',
): Promise<unknown> {
  const task = tasks.start(
    (ctx) => {
      code(ctx)
      return new Promise(() => {})
    },
    { name },
  )
  return task.result.then(
    () => assert.unreachable(),
    (error: unknown) => error,
  )
}

/** Enough turns for an error of this moment to have been attributed. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn()
}

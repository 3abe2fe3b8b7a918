import {
  type DynamicSupervisor,
  type DynamicSupervisorOptions,
  ignore,
  type RootOptions,
  startDynamicSupervisor,
} from 'caduceus/runtime'
import type { TestContext } from '../support/suite.js'
import { type Recorder, worker, type WorkerRef } from './_family.js'

/** A silent dynamic supervisor that ends with the test. */
export async function startPool(
  t: TestContext,
  options: DynamicSupervisorOptions & RootOptions = {},
): Promise<DynamicSupervisor> {
  const pool = await startDynamicSupervisor({ logger: false, ...options })
  t.after(() => pool.ref.kill())
  return pool
}

/** Starts a worker and answers its reference. */
export async function add(
  pool: DynamicSupervisor,
  spec: Parameters<DynamicSupervisor['startChild']>[0],
): Promise<WorkerRef> {
  const { ref } = await pool.startChild(spec)
  if (ref === undefined) throw new Error('it was ignored')
  return ref as WorkerRef
}

/** A child that fails to start while `plan.broken`, noting each attempt. */
export function breakable(log: Recorder, id: string) {
  const plan = { broken: false, ignores: false }
  const spec = worker(log, id, {
    init() {
      if (!plan.broken) return
      log.note(`try ${id}`)
      throw new Error('broken')
    },
  })
  const start: typeof spec.start = (ctx) => (plan.ignores ? ignore : spec.start(ctx))
  return { plan, spec: { ...spec, start } }
}

import type { Registry } from 'caduceus/runtime'
import { type Recorder, worker, type WorkerOptions } from './_family.js'

/** A child with a name whose next starts wait for a gate, or fail. */
export function gated(log: Recorder, id: string, options: WorkerOptions = {}) {
  const plan = { wait: undefined as Promise<void> | undefined, failures: 0 }
  const init = (): Promise<void> | undefined => {
    if (plan.failures-- > 0) throw new Error(`${id} cannot start`)
    return plan.wait
  }
  return { plan, spec: worker(log, id, { name: id, init, ...options }) }
}

/** What is known of a name, in a few words. */
export function state(registry: Registry, name: string): string {
  const known = registry.state(name)
  return known.state === 'ended' ? `ended ${known.reason.type}` : known.state
}

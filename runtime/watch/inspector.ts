import type { InspectionEvent } from 'xstate'
import type { Read } from '../base/read-options.js'
import { subscriber } from '../faults/containment.js'
import type { World } from '../time/world.js'

/**
 * Hears what state machines do, as xstate tells it to `inspect` of `createActor`: a function, or an object
 * with `next` such as the inspectors for xstate are. It runs apart from who tells, a little later.
 */
export type MachineInspector = ((event: InspectionEvent) => void) | { next?(event: InspectionEvent): void }

/** Reads the option `inspect`. */
export function inspectorReader(
  bad: (field: string, expected: string, got: unknown) => Error,
): Read<MachineInspector> {
  return (value, field) => {
    if (isInspector(value)) return value
    throw bad(field, 'a function, or an object with next', value)
  }
}

function isInspector(value: unknown): value is MachineInspector {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && 'next' in value && typeof value.next === 'function'
}

/** The inspector as xstate takes it; its throws become warnings of Node. */
export function apart(inspector: MachineInspector, world: World): (event: InspectionEvent) => void {
  const hear =
    typeof inspector === 'function' ? inspector : (event: InspectionEvent) => inspector.next?.(event)
  const told = subscriber(hear)
  return (event) => world.queueMicrotask(() => told(event))
}

import type { Behaviour } from '../process/behaviour.js'
import { refused } from '../process/call.js'
import type { ChildStarted } from './child.js'
import { type ChildOverrides, type ChildSpec, childSpec, readChildSpec } from './child-spec.js'
import { show, optionError } from '../base/errors.js'
import { handled } from '../base/promise.js'
import { type ActorRef, ProcessRef } from '../process/ref.js'
import { type RootOptions, splitOptions, startRoot } from '../process/root.js'
import { isSupervisor, supervisorBehaviour } from './supervisor.js'
import { SupervisorHandle } from './handle.js'
import { readSupervisorOptions, type SupervisorOptions } from './options.js'

/** Administers one incarnation of a supervisor while it runs. */
export class Supervisor extends SupervisorHandle {
  /**
   * Starts one more child, last in the order. Rejects with ALREADY_STARTED, ALREADY_PRESENT, START_FAILED or
   * BAD_SPEC.
   */
  startChild(spec: ChildSpec): Promise<ChildStarted> {
    try {
      return this.request('startChild', readChildSpec(spec))
    } catch (error) {
      return refused(error)
    }
  }

  /**
   * Stops a child and keeps its spec (not that of a temporary one); stopped already is fine. Rejects with
   * NOT_FOUND.
   */
  terminateChild(id: string): Promise<void> {
    return this.request('terminateChild', id)
  }

  /** Starts a stopped child again. Rejects with RUNNING, RESTARTING, NOT_FOUND or START_FAILED. */
  restartChild(id: string): Promise<ChildStarted> {
    return this.request('restartChild', id)
  }

  /** Forgets a stopped child. Rejects with RUNNING, RESTARTING or NOT_FOUND. */
  deleteChild(id: string): Promise<void> {
    return this.request('deleteChild', id)
  }

  /** A child's spec with every default filled in. Rejects with NOT_FOUND. */
  childSpec(id: string): Promise<ChildSpec> {
    return this.request('childSpec', id)
  }
}

/**
 * Starts a supervisor as the root of a tree and resolves when all its children are up. When one fails, those
 * already started are stopped again in reverse order and it rejects with START_FAILED (`data.id` names the
 * child, `cause` is what made it fail). Wrong options reject with BAD_OPTION, BAD_SPEC or DUPLICATE_ID before
 * anything is started.
 */
export function startSupervisor(
  options: SupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'>,
): Promise<Supervisor> {
  return handled(start(options))
}

async function start(
  options: SupervisorOptions & Omit<RootOptions, 'name' | 'startTimeout'>,
): Promise<Supervisor> {
  const { own, treeWide } = splitOptions(options)
  const behaviour = supervisorBehaviour(readSupervisorOptions(own as SupervisorOptions))
  return new Supervisor(await startRoot(behaviour, undefined, treeWide))
}

/** The child spec of a supervisor below another one. Throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID. */
export function supervisorSpec(options: SupervisorOptions, overrides: ChildOverrides = {}): ChildSpec {
  const behaviour = supervisorBehaviour(readSupervisorOptions(options)) as Behaviour<unknown, undefined>
  return childSpec(behaviour, undefined, overrides)
}

/**
 * Administers a supervisor that was started as a child. Throws BAD_OPTION when the process is none, or a
 * dynamic one.
 */
export function supervisorAt(ref: ProcessRef | undefined): Supervisor {
  if (ref instanceof ProcessRef && isSupervisor(ref)) return new Supervisor(ref as ActorRef)
  throw optionError('ref', `supervisorAt: expected the reference of a supervisor, got ${show(ref)}`)
}

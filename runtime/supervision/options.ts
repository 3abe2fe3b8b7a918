import { type ChildSpec, type FullChildSpec, readChildSpecs, refuseSignificant } from './child-spec.js'
import { badOption, checkCount, checkFields, checkName } from '../base/check.js'
import type { Strategy } from './strategy.js'

/** What a supervisor is made of. */
export interface SupervisorOptions {
  /** Shown in trees, reports and errors. Default `supervisor`. */
  name?: string
  /** Which children are started again when one of them dies; there is no default (as in Elixir). */
  strategy: Strategy
  /** Restarts within `periodMs` that are still fine; one more, and the supervisor gives up. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
  /**
   * Whether the supervisor stops, with `shutdown`, when a significant child has ended by itself and is not
   * restarted: with the first one (`any_significant`), with the last one (`all_significant`), or not. Default
   * `never`.
   */
  autoShutdown?: AutoShutdown
  /** The children in start order. */
  children?: readonly ChildSpec[]
}

/** When the end of significant children ends their supervisor (OTP: auto_shutdown). */
export type AutoShutdown = 'never' | 'any_significant' | 'all_significant'

/** What a dynamic supervisor is made of; its strategy is one_for_one, its children come and go. */
export interface DynamicSupervisorOptions {
  /** Shown in trees, reports and errors. Default `dynamic_supervisor`. */
  name?: string
  /**
   * Children at once, starting and restarting ones included; more are refused with MAX_CHILDREN. Default
   * Infinity.
   */
  maxChildren?: number
  /** Restarts within `periodMs` that are still fine, over all children. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
}

/** What a task supervisor is made of. */
export interface TaskSupervisorOptions {
  /** Shown in trees, reports and errors. Default `task_supervisor`. */
  name?: string
  /** Tasks at once; more are refused with MAX_CHILDREN. Default Infinity. */
  maxChildren?: number
}

/** Checked supervisor options with every default filled in. */
export interface SupervisorPlan extends Required<SupervisorOptions> {
  children: readonly FullChildSpec[]
}

/**
 * Checks the options of a supervisor and fills in the defaults; throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID.
 */
export function readSupervisorOptions(options: SupervisorOptions): SupervisorPlan {
  checkFields(options, ['name', 'strategy', 'intensity', 'periodMs', 'autoShutdown', 'children'])
  const { name = 'supervisor', strategy, autoShutdown = 'never', children = [] } = options
  checkName(name)
  if (!strategies.has(strategy))
    throw badOption('strategy', 'one_for_one, one_for_all or rest_for_one', strategy)
  if (!autoShutdowns.has(autoShutdown))
    throw badOption('autoShutdown', 'never, any_significant or all_significant', autoShutdown)
  const specs = readChildSpecs(children)
  if (autoShutdown === 'never')
    for (const spec of specs) refuseSignificant(spec, 'unless the supervisor has autoShutdown')
  return { name, strategy, autoShutdown, ...readWindow(options), children: specs }
}

const autoShutdowns = new Set<unknown>(['never', 'any_significant', 'all_significant'])
const strategies = new Set<unknown>(['one_for_one', 'one_for_all', 'rest_for_one'])

/** Checks the options of a dynamic supervisor and fills in the defaults; throws BAD_OPTION. */
export function readDynamicSupervisorOptions(
  options: DynamicSupervisorOptions,
): Required<DynamicSupervisorOptions> {
  checkFields(options, ['name', 'maxChildren', 'intensity', 'periodMs'])
  const { name = 'dynamic_supervisor', maxChildren = Number.POSITIVE_INFINITY } = options
  checkName(name)
  checkCount(maxChildren, 'maxChildren')
  return { name, maxChildren, ...readWindow(options) }
}

/** Checks the options of a task supervisor and fills in the defaults; throws BAD_OPTION. */
export function readTaskSupervisorOptions(options: TaskSupervisorOptions): Required<TaskSupervisorOptions> {
  checkFields(options, ['name', 'maxChildren'])
  const { name = 'task_supervisor', maxChildren = Number.POSITIVE_INFINITY } = options
  checkName(name)
  checkCount(maxChildren, 'maxChildren')
  return { name, maxChildren }
}

function readWindow(options: { intensity?: number; periodMs?: number }): {
  intensity: number
  periodMs: number
} {
  const { intensity = 3, periodMs = 5_000 } = options
  checkCount(intensity, 'intensity')
  if (!(typeof periodMs === 'number' && periodMs > 0))
    throw badOption('periodMs', 'milliseconds above 0', periodMs)
  return { intensity, periodMs }
}

import { type ChildSpec, type FullChildSpec, readChildSpecs, refuseSignificant } from './child-spec.js'
import { badOption, checkCount, checkFields, checkName } from '../base/check.js'
import type { Strategy } from './strategy.js'

/** How a supervisor restarts its children, and which it starts with. */
export interface SupervisorOptions {
  /** Shown in trees, reports and errors. Default `supervisor`. */
  name?: string
  /** Which children restart when one dies; required, as in Elixir. */
  strategy: Strategy
  /** Restarts allowed within `periodMs`; one more, and the supervisor gives up. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
  /**
   * When the supervisor stops with `shutdown`: after the first (`any_significant`) or the last
   * (`all_significant`) significant child has ended by itself and is not restarted. Default `never`.
   */
  autoShutdown?: AutoShutdown
  /** The children in start order. */
  children?: readonly ChildSpec[]
}

/** When the end of significant children ends their supervisor (OTP: auto_shutdown). */
export type AutoShutdown = 'never' | 'any_significant' | 'all_significant'

/** Options of a dynamic supervisor; its strategy is one_for_one. */
export interface DynamicSupervisorOptions {
  /** Shown in trees, reports and errors. Default `dynamic_supervisor`. */
  name?: string
  /** Children at once, also starting and restarting ones; more reject with MAX_CHILDREN. Default Infinity. */
  maxChildren?: number
  /** Restarts allowed within `periodMs`, over all children. Default 3. */
  intensity?: number
  /** Milliseconds that restarts are counted over. Default 5000. */
  periodMs?: number
}

/** The name of a supervisor of tasks, and how many may run. */
export interface TaskSupervisorOptions {
  /** Shown in trees, reports and errors. Default `task_supervisor`. */
  name?: string
  /** Tasks at once; for more `start` throws MAX_CHILDREN. Default Infinity. */
  maxChildren?: number
}

export interface SupervisorPlan extends Required<SupervisorOptions> {
  children: readonly FullChildSpec[]
}

/** Checks options and fills in defaults. Throws BAD_OPTION, BAD_SPEC or DUPLICATE_ID. */
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

/** Throws BAD_OPTION. */
export function readDynamicSupervisorOptions(
  options: DynamicSupervisorOptions,
): Required<DynamicSupervisorOptions> {
  checkFields(options, ['name', 'maxChildren', 'intensity', 'periodMs'])
  const { name = 'dynamic_supervisor', maxChildren = Number.POSITIVE_INFINITY } = options
  checkName(name)
  checkCount(maxChildren, 'maxChildren')
  return { name, maxChildren, ...readWindow(options) }
}

/** Throws BAD_OPTION. */
export function readTaskSupervisorOptions(options: TaskSupervisorOptions): Required<TaskSupervisorOptions> {
  checkFields(options, ['name', 'maxChildren'])
  const { name = 'task_supervisor', maxChildren = Number.POSITIVE_INFINITY } = options
  checkName(name)
  checkCount(maxChildren, 'maxChildren')
  return { name, maxChildren }
}

function readWindow({ intensity = 3, periodMs = 5_000 }: { intensity?: number; periodMs?: number }) {
  checkCount(intensity, 'intensity')
  if (!(typeof periodMs === 'number' && periodMs > 0))
    throw badOption('periodMs', 'milliseconds above 0', periodMs)
  return { intensity, periodMs }
}

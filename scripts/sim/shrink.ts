import { only, type FaultPlan, type Plan } from './plan/plan.js'
import { writeIds } from './options.js'

export interface ShrinkOptions {
  /** Whether this plan still goes wrong in the same way. */
  readonly fails: (plan: Plan) => Promise<boolean>
  /** No attempt begins after it. */
  readonly isOver: () => boolean
}

/** The plan that fails, with less in it: fewer faults, then fewer acts, then shorter faults. */
export async function shrink(plan: Plan, { fails, isOver }: ShrinkOptions): Promise<Plan> {
  const attempt = async (smaller: Plan): Promise<boolean> => !isOver() && (await fails(smaller))
  const faults = await reduce(idsOf(plan.faults), (ids) => attempt(only(plan, { faults: new Set(ids) })))
  const fewer = only(plan, { faults: new Set(faults) })
  const acts = await reduce(idsOf(fewer.acts), (ids) => attempt(only(fewer, { acts: new Set(ids) })))
  let smallest = only(fewer, { acts: new Set(acts) })
  // a fault that the acts of before had needed may be needed no more
  if (acts.length < plan.acts.length) {
    const last = await reduce(faults, (ids) => attempt(only(smallest, { faults: new Set(ids) })))
    smallest = only(smallest, { faults: new Set(last) })
  }
  for (const { id, lasts } of smallest.faults)
    for (const shorter of [1, lasts / 100, lasts / 10, lasts / 2].map(Math.ceil)) {
      if (shorter >= lasts) continue
      const shortened = only(smallest, { lasts: new Map([[id, shorter]]) })
      if (!(await attempt(shortened))) continue
      smallest = shortened
      break
    }
  return smallest
}

/**
 * Takes away what is not needed, in halves, quarters and so on (Zeller's ddmin): of what is left, each one
 * alone is needed.
 */
export async function reduce<T>(
  items: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  if (items.length === 0 || (await fails([]))) return []
  let left = items
  let parts = 2
  while (left.length > 1) {
    const size = Math.ceil(left.length / parts)
    const isLess = async (): Promise<boolean> => {
      for (let at = 0; at < left.length; at += size) {
        const some = [...left.slice(0, at), ...left.slice(at + size)]
        if (!(await fails(some))) continue
        left = some
        return true
      }
      return false
    }
    if (await isLess()) parts = Math.max(2, parts - 1)
    else if (size === 1) break
    else parts = Math.min(left.length, parts * 2)
  }
  return left
}

/** A shrunk plan for people: what breaks, and the command that does it again. */
export function showShrunk(
  plan: Plan,
  whole: Plan,
  { operations, clusters }: { readonly operations: number; readonly clusters?: boolean | undefined },
): string {
  const kind = clusters ? ' --cluster' : ''
  const before = new Map(whole.faults.map(({ id, lasts }) => [id, lasts]))
  const isWhole = plan.faults.every(({ id, lasts }) => before.get(id) === lasts)
  const faults = isWhole
    ? writeIds(idsOf(plan.faults))
    : plan.faults.map(({ id, lasts }) => (before.get(id) === lasts ? `${id}` : `${id}:${lasts}`)).join(',')
  const acts = plan.acts.length === whole.acts.length ? '' : ` --acts ${writeIds(idsOf(plan.acts))}`
  const words = plan.faults.map((fault) => `  ${showFault(fault)}`)
  return [
    `${plan.faults.length} of ${whole.faults.length} faults and ${plan.acts.length} of ${whole.acts.length} acts are enough:`,
    ...words,
    `  npm run sim -- --seed ${plan.seed} --operations ${operations}${kind} --faults ${faults}${acts} --trace`,
  ].join('\n')
}

function showFault({ id, at, verb, target, other, lasts, amount }: FaultPlan): string {
  const place = other === undefined ? target : `${target} to ${other}`
  const detail = amount === undefined ? '' : `, ${amount}`
  return `${id}: at ${at.toFixed(0)} ms ${verb} ${place}${detail}, for ${lasts.toFixed(0)} ms`
}

function idsOf(list: readonly { readonly id: number }[]): number[] {
  return list.map(({ id }) => id)
}

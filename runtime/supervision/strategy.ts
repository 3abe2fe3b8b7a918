import { type ExitReason, isNormal } from '../base/exit.js'

/** Which children restart when one dies (OTP: restart strategy). */
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one'

/** When an ended child restarts: always, after an abnormal end, never (OTP: restart type). */
export type Restart = 'permanent' | 'transient' | 'temporary'

export function shouldRestart(restart: Restart, reason: ExitReason): boolean {
  return restarts[restart](reason)
}

const restarts: Record<Restart, (reason: ExitReason) => boolean> = {
  permanent: () => true,
  transient: (reason) => !isNormal(reason),
  temporary: () => false,
}

/** The children to stop, last started first, and those to start, in start order. */
interface RestartPlan<Child> {
  stop: Child[]
  start: Child[]
}

/** What a strategy does about the end of `failed`; `order` is the start order. */
export function restartPlan<Child>(
  strategy: Strategy,
  order: readonly Child[],
  failed: Child,
): RestartPlan<Child> {
  return plans[strategy](order, failed) as RestartPlan<Child>
}

const plans: Record<Strategy, (order: readonly unknown[], failed: unknown) => RestartPlan<unknown>> = {
  one_for_one: (_, failed) => ({ stop: [], start: [failed] }),
  one_for_all: (order, failed) => ({
    stop: order.filter((child) => child !== failed).reverse(),
    start: [...order],
  }),
  rest_for_one: (order, failed) => {
    const from = order.indexOf(failed)
    return { stop: order.slice(from + 1).reverse(), start: order.slice(from) }
  },
}

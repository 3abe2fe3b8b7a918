import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../runtime/base/errors.js'
import type { Fault, Target } from './faults.js'
import type { HistoryLog } from './history-log.js'
import type { Ledger } from './ledger.js'
import { createRandom, type Random } from './random.js'
import type { Recovery } from './recovery.js'
import type { Violations } from './violations.js'

/** What breaks, and who keeps account of it. */
export interface ChaosParts {
  readonly targets: readonly Target[]
  readonly random: Random
  readonly ledger: Ledger
  readonly history: HistoryLog
  readonly recovery: Recovery
  readonly violations: Violations
  /** Milliseconds since the run began. */
  readonly now: () => number
}

/** Milliseconds between two faults, on the average. */
const usualGap = 600
/** Milliseconds in which a target that is whole again is left in peace: supervisors give up what breaks too often. */
const peace = 4_000

/** Breaks one thing after the other, several at a time, until `signal` aborts and everything is whole again. Answers how often what was done. */
export async function makeChaos(parts: ChaosParts, signal: AbortSignal): Promise<Map<string, number>> {
  const { targets, random, now } = parts
  const done = new Map<string, number>()
  const restUntil = new Map<Target, number>()
  const running = new Set<Promise<void>>()
  while (!signal.aborted) {
    const free = targets.filter((target) => (restUntil.get(target) ?? 0) <= now())
    const target = random.pick(free, ({ weight }) => weight)
    const fault = target === undefined ? undefined : random.pick(target.faults, ({ weight = 1 }) => weight)
    if (target !== undefined && fault !== undefined) {
      done.set(fault.kind, (done.get(fault.kind) ?? 0) + 1)
      restUntil.set(target, Number.POSITIVE_INFINITY)
      const run = runFault(parts, target, fault).finally(() => {
        restUntil.set(target, now() + peace)
        running.delete(run)
      })
      running.add(run)
    }
    await sleep(random.between(1, 2 * usualGap), undefined, { signal }).catch(() => {})
  }
  await Promise.all(running)
  return done
}

async function runFault(
  { ledger, history, recovery, violations, random, now }: ChaosParts,
  target: Target,
  fault: Fault,
): Promise<void> {
  const { clients } = target
  // What runs beside it draws numbers, too: how long it takes must not change what comes next.
  const { between } = createRandom(random.between(0, 2 ** 32 - 1))
  recovery.block(clients)
  const { verb, outlastsPatience = false } = fault
  const note = (): void => {
    for (const client of clients)
      history.add(client, { type: 'fault', verb, target: outlastsPatience ? client : target.name })
  }
  note()
  try {
    await fault.run({
      cut: () => {
        ledger.mark(clients, now())
        if (outlastsPatience) note()
      },
      back: () => ledger.back(clients, now()),
      between,
      wait: (ms) => sleep(ms),
    })
  } catch (error) {
    violations.add('fault failed', `${fault.kind} of ${target.name}: ${messageOf(error)}`)
  } finally {
    recovery.free(clients, now())
  }
}

import { ignore } from '../../runtime/process/behaviour.js'
import type { ChildSpec } from '../../runtime/supervision/child-spec.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { supervisorSpec } from '../../runtime/supervision/supervise.js'
import type { Client } from '../handle/client.js'
import { specOf } from '../handle/supervisor.js'
import type { ClientPlan } from './options.js'
import { Demand } from '../base/demand.js'
import { Setbacks } from '../base/backoff.js'

/** The place of one client among many. */
export interface Place {
  readonly spec: ChildSpec
  /** The handle, once the client has been started; the same after every crash. */
  client: Client | undefined
  /** The supervisor that brings it back, once it runs. */
  ref: ProcessRef | undefined
  /** Aborted when the client is to come back no more. */
  readonly leaving: AbortController
}

/**
 * A client that comes back also when its own supervisor has given it up, with a growing pause in between, a
 * short one while somebody waits. The pause is waited for by a supervisor that has no other child, so it
 * delays nobody else; names wait with it, so calls do, too, and the handle stays the same.
 */
export function comebackPlace({ settings }: ClientPlan): Place {
  const leaving = new AbortController()
  const demand = new Demand()
  const inner = specOf(settings, {}, demand)
  const setbacks = new Setbacks(settings.backoff)
  let keeper: ProcessRef | undefined
  const start: ChildSpec['start'] = async (ctx) => {
    const { clock, self } = ctx
    const pause = setbacks.next(clock.now(), demand.any)
    // A new keeper is being waited for by the one supervisor of all.
    if (pause > 0 && keeper === self) await sleep(pause, { clock, demand, setbacks, signal: leaving.signal })
    keeper = self
    if (leaving.signal.aborted) return ignore
    setbacks.began(clock.now())
    const started = (await inner.start(ctx)) as { ref: ProcessRef; extra: Client }
    place.client ??= started.extra
    return started
  }
  const spec = supervisorSpec(
    {
      name: `keeper of client ${settings.name}`,
      strategy: 'one_for_one',
      intensity: Number.POSITIVE_INFINITY,
      children: [{ ...inner, start }],
    },
    { id: settings.name },
  )
  const place: Place = { spec, client: undefined, ref: undefined, leaving }
  return place
}

interface Sleeper {
  readonly clock: Clock
  readonly demand: Demand
  readonly setbacks: Setbacks
  readonly signal: AbortSignal
}

/** Resolves after `ms`, sooner when somebody begins to wait, and at once when `signal` aborts. */
function sleep(ms: number, { clock, demand, setbacks, signal }: Sleeper): Promise<void> {
  return new Promise((resolve) => {
    const due = clock.now() + ms
    const wake = (): void => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      undo()
      resolve()
    }
    const undo = demand.onBegin(() => {
      clock.clearTimeout(timer)
      timer = clock.setTimeout(wake, setbacks.left(due - clock.now()))
    })
    let timer = clock.setTimeout(wake, ms)
    if (signal.aborted) wake()
    else signal.addEventListener('abort', wake, { once: true })
  })
}

import { ignore } from '../runtime/behaviour.js'
import type { ChildSpec } from '../runtime/child-spec.js'
import type { Clock } from '../runtime/clock.js'
import type { ProcessRef } from '../runtime/ref.js'
import { supervisorSpec } from '../runtime/supervise.js'
import type { Client } from './client.js'
import { clientSpec } from './client-supervisor.js'
import type { ClientPlan } from './clients-options.js'
import { Setbacks } from './setbacks.js'

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
 * A client that comes back also when its own supervisor has given it up, with a growing pause in between. The pause is waited for by a
 * supervisor that has no other child, so it delays nobody else; names wait with it, so calls do, too, and the handle stays the same.
 */
export function comebackPlace({ options, settings }: ClientPlan): Place {
  const leaving = new AbortController()
  const inner = clientSpec(options)
  const setbacks = new Setbacks(settings.backoff)
  let keeper: ProcessRef | undefined
  const start: ChildSpec['start'] = async (ctx) => {
    const { clock, self } = ctx
    const pause = setbacks.next(clock.now())
    // A new keeper is being waited for by the one supervisor of all.
    if (pause > 0 && keeper === self) await sleep(clock, pause, leaving.signal)
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

function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const timer = clock.setTimeout(wake, ms)
    if (signal.aborted) wake()
    else signal.addEventListener('abort', wake, { once: true })
  })
}

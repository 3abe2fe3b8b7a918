import { ignore } from '../../runtime/process/behaviour.js'
import type { ChildSpec } from '../../runtime/supervision/child-spec.js'
import type { World } from '../../runtime/time/world.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { supervisorSpec } from '../../runtime/supervision/supervise.js'
import type { Client } from '../handle/client.js'
import { specOf } from '../handle/supervisor.js'
import type { ClientSettings } from '../options/options.js'
import { Demand } from '../base/demand.js'
import { Setbacks } from '../base/backoff.js'

export interface FleetClient {
  readonly spec: ChildSpec
  /** Set once started; the same after every crash. */
  client: Client | undefined
  /** The supervisor that restarts the client, once it runs. */
  ref: ProcessRef | undefined
  /** Aborted when the client must not be restarted. */
  readonly leaving: AbortController
}

/**
 * Restarts a client whose supervisor gave up, after a growing pause, shorter while somebody waits. Its keeper
 * waits, so no other client is delayed. Meanwhile the name is `starting`: calls wait, the handle stays.
 */
export function fleetClient(settings: ClientSettings): FleetClient {
  const leaving = new AbortController()
  const demand = new Demand()
  const inner = specOf(settings, {}, demand)
  const setbacks = new Setbacks(settings.backoff)
  let keeper: ProcessRef | undefined
  const wake = (): void => {}
  /** Ends sooner once somebody waits, at once when the client is to leave. */
  const rest = (ms: number, world: World): Promise<void> =>
    waitWithin({ clock: world, ms, late: wake, signal: leaving.signal, aborted: wake }, (resolve) => {
      const due = world.now() + ms
      let timer: unknown
      const undo = demand.onBegin(() => {
        world.clearTimeout(timer)
        timer = world.setTimeout(() => resolve(), setbacks.left(due - world.now(), world))
      })
      return () => {
        world.clearTimeout(timer)
        undo()
      }
    })
  const start: ChildSpec['start'] = async (ctx) => {
    const { world, self } = ctx
    const ms = setbacks.next(world, demand.any)
    // a new keeper does not pause: the one supervisor of all waits for its start
    if (ms > 0 && keeper === self) await rest(ms, world)
    keeper = self
    if (leaving.signal.aborted) return ignore
    setbacks.began(world.now())
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
  const place: FleetClient = { spec, client: undefined, ref: undefined, leaving }
  return place
}

import type { Registry } from '../../runtime/process/registry.js'
import type { Clock } from '../../runtime/time/clock.js'
import { clientActorName } from '../base/names.js'
import type { clientActor } from '../connection/client-actor.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'

/** What a handle to a client is made of; its actors are found by name. */
export interface ClientParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
  /** Refuses and gives up the calls of this handle, and of no other, once it aborts. */
  readonly gate?: AbortSignal
  /** Ends what was started for this client alone; called once it is closed. */
  readonly stop?: () => Promise<void>
}

/** The actor of a client, whichever incarnation runs when it is called. */
export function actorOf({ registry, settings }: ClientParts) {
  return registry.named<typeof clientActor>(clientActorName(settings.name))
}

/** The clock of the tree that a client lives in. */
export function clockOf({ registry, settings }: ClientParts): Clock {
  return registry.clockOf(clientActorName(settings.name))
}

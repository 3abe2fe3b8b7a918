import type { Registry } from '../../runtime/process/registry.js'
import { clientActorName } from '../base/names.js'
import type { clientActor } from '../connection/client-actor.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'

/** Actors are found by name. */
export interface ClientParts {
  readonly registry: Registry
  readonly settings: ClientSettings
  readonly holdings: Holdings
  /** Its abort gives up the calls of this handle, and of no other. */
  readonly gate?: AbortSignal
  /** Ends what was started for this client alone, after its close. */
  readonly stop?: () => Promise<void>
}

export function actorOf({ registry, settings }: ClientParts) {
  return registry.named<typeof clientActor>(clientActorName(settings.name))
}

import { defineActor } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { describe } from '../runtime/inspect.js'
import type { ActorRef } from '../runtime/ref.js'
import type { Binding } from '../transports/contract.js'
import { Catalog } from './catalog.js'
import type { ServerSettings } from './options.js'
import { RestoreLimit } from './restore-limit.js'
import { createMemoryStore, type SessionStore } from './session-store.js'

/** What outlives every restart of a server's group, and is passed in to it. */
export interface Holdings {
  readonly settings: ServerSettings
  readonly place: Place
  /** The port, or the pipes. */
  readonly binding: Binding
  readonly store: SessionStore
  readonly catalog: Catalog
  readonly restores: RestoreLimit
}

/** What holdings are started with. */
export interface HoldingsInput {
  readonly settings: ServerSettings
  readonly place: Place
}

/** Where a server is: outlives even the holdings, so that they come back to the same port. */
export interface Place {
  binding: Binding | undefined
  /** The supervisor of the server; undefined before its first start. */
  supervisor: ActorRef | undefined
}

/** Owns what must outlive the group: the port, the sessions' store, the tools added at run time. It does nothing else. */
export const holdingsActor = defineActor({
  name: 'holdings',
  stray: 'report',
  async init(
    { settings, place }: HoldingsInput,
    ctx: ActorContext,
  ): Promise<Holdings & { [describe](): string }> {
    const { definition, transport, maxSessions, idleTimeout, pageSize } = settings
    const binding = await transport.bind(ctx, place.binding)
    place.binding = binding
    const { now } = ctx.clock
    return {
      settings,
      place,
      binding,
      store: settings.store ?? createMemoryStore({ maxSessions, idleTimeout, now }),
      catalog: new Catalog(definition, pageSize),
      restores: new RestoreLimit(),
      [describe]: () => binding.url ?? transport.name,
    }
  },
  call: {
    share: (holdings): Holdings => holdings,
  },
})

import { type ChildOverrides, type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import type { Registry } from '../../runtime/process/registry.js'
import { linkActor } from '../../transports/link/actor.js'
import { Client } from './client.js'
import { clientActor } from '../connection/client-actor.js'
import { followName } from './supervisor.js'
import { Holdings } from '../holdings/holdings.js'
import { clientActorName, transportName } from '../base/names.js'
import { type ClientOptions, readClientOptions } from '../options/options.js'

/**
 * The child spec of a client without its transport, for a one_for_one supervisor of yours that has
 * `transportSpec` of the same options as another child, in any order: the end of one leaves the other alone,
 * and the client makes a new connection, with a new handshake. Its start hands out the handle as `extra`, and
 * `findClient` finds it by name. Throws BAD_OPTION, naming the field.
 */
export function clientActorSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  const settings = readClientOptions(options)
  const name = clientActorName(settings.name)
  // One spec may be started in several trees; started again in the same one, it is the same client.
  const places = new WeakMap<Registry, Holdings>()
  const specOf = (holdings: Holdings): ChildSpec =>
    childSpec(
      clientActor,
      { settings, holdings },
      { id: name, startTimeout: Number.POSITIVE_INFINITY, ...overrides, name },
    )
  return {
    ...specOf(new Holdings(settings)),
    async start(ctx) {
      const { registry } = ctx
      const known = places.get(registry)
      const holdings = known === undefined || known.over ? new Holdings(settings) : known
      places.set(registry, holdings)
      const ref = await ctx.start(clientActor, { settings, holdings }, { name })
      // A transport says that it is there when it starts: one that runs already has told the client before
      // this one.
      if (registry.state(transportName(settings.name)).state === 'up') ref.cast('attached')
      if (holdings !== known) void followName(holdings, registry, Promise.resolve())
      return { ref, extra: new Client({ registry, settings, holdings, stop: async () => {} }) }
    },
  }
}

/**
 * The child spec of a client's transport alone, for a supervisor of yours that has `clientActorSpec` of the
 * same options as another child. Throws BAD_OPTION, naming the field.
 */
export function transportSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  const { name: client, transport } = readClientOptions(options)
  const name = transportName(client)
  const input = { transport, owner: clientActorName(client) }
  return childSpec(linkActor, input, { id: name, shutdown: 8_000, ...overrides, name })
}

import { startDynamicSupervisor } from '../../runtime/supervision/dynamic.js'
import { handled } from '../../runtime/base/promise.js'
import { Registry } from '../../runtime/process/registry.js'
import { Clients } from './clients.js'
import {
  type ClientsSettings,
  type HostConfiguration,
  readClientsOptions,
  type ServerEntries,
  type StartClientsOptions,
} from './options.js'

/**
 * Starts a client for every server of a configuration as desktop hosts have it (the object under
 * `mcpServers`, or the whole configuration), all in one supervised tree, and resolves while they still
 * connect; with `required`, once those are ready. Rejects with BAD_OPTION, naming the field
 * (`mcpServers.files.args[0]`), before anything is started; and as `client.ready()` does, with `data.client`,
 * when a required one is not ready in time or never will be: then everything has been closed again.
 */
export function startClients(
  servers: ServerEntries | HostConfiguration,
  options: StartClientsOptions = {},
): Promise<Clients> {
  return handled(start(servers, options))
}

async function start(
  servers: ServerEntries | HostConfiguration,
  options: StartClientsOptions,
): Promise<Clients> {
  const settings = readClientsOptions(servers, options)
  const clients = await plant(settings)
  try {
    for (const client of settings.clients) await clients.launch(client)
    await clients.ready({ names: settings.required, timeout: settings.readyTimeout })
    return clients
  } catch (error) {
    await clients.close()
    throw error
  }
}

async function plant(settings: ClientsSettings): Promise<Clients> {
  const { name, tree } = settings
  const registry = tree.registry ?? new Registry()
  // keepers end only when they are told to, or killed: their restarts are no reason to end all
  const intensity = Number.POSITIVE_INFINITY
  const supervisor = await startDynamicSupervisor({ name, intensity, ...tree, registry })
  return new Clients({ settings, registry, supervisor })
}

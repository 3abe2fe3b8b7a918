import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import { outside } from '../../runtime/faults/containment.js'
import { type DynamicSupervisor, startDynamicSupervisor } from '../../runtime/supervision/dynamic.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { handled, lastTurns } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import type { Client } from '../handle/client.js'
import { checkFree, nameTaken } from '../handle/supervisor.js'
import {
  type ClientsSettings,
  type HostConfiguration,
  readClientsOptions,
  type ServerEntries,
  type StartClientsOptions,
} from './options.js'
import type { ClientSettings } from '../options/options.js'
import { fleetClient, type FleetClient } from './comeback.js'
import { callError, ClientError } from '../base/errors.js'
import { clientActorName } from '../base/names.js'
import { bad, readFunction, readOptions, readText } from '../base/read-options.js'
import type { ServerEntry } from './server-entry.js'
import type { ClientState, Undo } from '../base/state.js'
import { HandlerOwner, Watchers } from '../base/watchers.js'
import { type ReadyOptions, readReadyOptions } from '../requests/ready.js'

/**
 * Starts a client for every server of a host's configuration, or of its `mcpServers`, in one supervised tree.
 * Resolves while they connect; with `required`, once those are ready. Rejects with BAD_OPTION
 * (`mcpServers.files.args[0]`) before anything starts. Rejects as `client.ready()`, with `data.client`, when
 * a required one fails; all are closed then.
 */
export function startClients(
  servers: ServerEntries | HostConfiguration,
  options: StartClientsOptions = {},
): Promise<Clients> {
  // whoever does not await it hears of a failure from Node
  return start(servers, options)
}

async function start(
  servers: ServerEntries | HostConfiguration,
  options: StartClientsOptions,
): Promise<Clients> {
  const settings = readClientsOptions(servers, options)
  const { name, tree } = settings
  const registry = tree.registry ?? new Registry()
  // keepers end only when they are told to, or killed: their restarts are no reason to end all
  const intensity = Number.POSITIVE_INFINITY
  const supervisor = await startDynamicSupervisor({ name, intensity, ...tree, registry })
  const clients = new Clients({ settings, registry, supervisor })
  try {
    for (const client of settings.clients) await clients.launch(client)
    await clients.ready({ names: settings.required, timeout: settings.readyTimeout })
    return clients
  } catch (error) {
    await clients.close()
    throw error
  }
}

interface ClientsParts {
  readonly settings: ClientsSettings
  readonly registry: Registry
  readonly supervisor: DynamicSupervisor
}

/** Which clients are waited for, and how long. */
export interface ClientsReadyOptions extends ReadyOptions {
  /** The names of servers. Default all there are. */
  readonly names?: readonly string[]
}

/** Clients of many servers in one tree, by server name. Even a repeated crash of one costs no other. */
export class Clients implements AsyncDisposable {
  readonly #parts: ClientsParts
  readonly #places = new Map<string, FleetClient>()
  readonly #watchers: Watchers<[name: string, state: ClientState]>
  #closing: Promise<void> | undefined

  constructor(parts: ClientsParts) {
    bindMethods(this, methods)
    this.#parts = parts
    this.#watchers = new Watchers(new HandlerOwner(parts.settings.name, parts.settings.tree.clock))
    this.#watchers.reportIn(parts.supervisor.ref)
  }

  get name(): string {
    return this.#parts.settings.name
  }

  /** The supervisor of all of them, as a process. */
  get ref(): ProcessRef {
    return this.#parts.supervisor.ref
  }

  /** The names of the tree: `findClient(registry, name)` finds these clients, too. */
  get registry(): Registry {
    return this.#parts.registry
  }

  /** The names of the servers, in the order they were given. */
  get names(): readonly string[] {
    return [...this].map(([name]) => name)
  }

  /** The client of a server. Throws NOT_FOUND, with the names that there are. */
  get(name: string): Client {
    const client = this.#places.get(name)?.client
    if (client !== undefined) return client
    const message = `${this.name}: expected ${among('the name of a server', this.names, String(name))}, got ${show(name)}`
    throw callError('NOT_FOUND', message, { sent: false, retryable: false })
  }

  /** Whether there is a client of that name. */
  has(name: string): boolean {
    return this.#places.get(name)?.client !== undefined
  }

  /** Names and clients, in the order they were given. */
  *[Symbol.iterator](): Generator<[name: string, client: Client], void, undefined> {
    for (const [name, { client }] of this.#places) if (client !== undefined) yield [name, client]
  }

  /** What each client is doing now, by name. */
  states(): ReadonlyMap<string, ClientState> {
    return new Map([...this].map(([name, { state }]) => [name, state]))
  }

  /**
   * Calls `fn` with the state of each client that is added, and at every change of the state of any, until the
   * returned function is called.
   */
  onState(fn: (name: string, state: ClientState) => void): Undo {
    readFunction(fn, 'fn')
    return this.#watchers.add(fn)
  }

  /**
   * Resolves once the clients of `names` (default all) are ready. Rejects as `client.ready()` once one has
   * failed, or after `timeout` ms (default 30,000); `data.client` is its name.
   */
  ready(options: ClientsReadyOptions = {}): Promise<void> {
    return handled(this.#ready(options))
  }

  /**
   * Starts one more client; resolves while it connects. Rejects with CLOSED, or BAD_OPTION (also: name taken,
   * entry disabled).
   */
  add(name: string, entry: ServerEntry): Promise<Client> {
    return handled(this.#add(name, entry))
  }

  /**
   * Closes a client in an orderly way, and removes it from the tree. Resolves with false for an unknown name.
   */
  async remove(name: string): Promise<boolean> {
    const place = this.#places.get(name)
    if (place === undefined) return false
    this.#places.delete(name)
    place.leaving.abort()
    await place.client?.close()
    const { supervisor } = this.#parts
    if (place.ref !== undefined && supervisor.ref.alive)
      await supervisor.terminateChild(place.ref).catch(() => {})
    return true
  }

  /** The tree, for `formatTree`. */
  inspect(): TreeNode {
    return inspect(this.#parts.supervisor.ref)
  }

  /**
   * Closes all clients at once, in an orderly way, and ends the tree. Never rejects, and may be called again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #ready(options: ClientsReadyOptions): Promise<void> {
    const given = readOptions(options, ['names', 'timeout', 'signal'], "{ names: ['files'], timeout: 5000 }")
    const { names = this.names, ...rest } = given
    const limits = readReadyOptions(rest, 30_000)
    if (!Array.isArray(names)) throw bad('names', 'names of servers', names)
    const wait = async (name: string): Promise<void> => {
      const client = this.#places.get(name)?.client
      if (client === undefined) throw bad('names', among('names', this.names, name), name)
      await client.ready(limits as ReadyOptions).catch((error: ClientError) => {
        throw named(error, name)
      })
    }
    await Promise.all(names.map(wait))
  }

  async #add(name: string, entry: ServerEntry): Promise<Client> {
    const settings = this.#parts.settings.read(readText(name, 'name'), entry)
    if (settings === undefined)
      throw bad(`mcpServers.${name}.disabled`, 'an entry that is not disabled', true)
    return await this.launch(settings)
  }

  /** For `startClients`. */
  async launch(settings: ClientSettings): Promise<Client> {
    const { name } = settings
    if (this.#closing !== undefined) throw this.#closed(name)
    if (this.#places.has(name)) throw nameTaken(name, 'client')
    checkFree(this.registry, clientActorName(name), name, 'client')
    const place = fleetClient(settings)
    this.#places.set(name, place)
    const { ref } = await this.#parts.supervisor.startChild(place.spec).catch((cause: unknown) => {
      this.#places.delete(name)
      throw this.#closing === undefined ? cause : this.#closed(name)
    })
    place.ref = ref
    const { client } = place
    if (client === undefined) throw this.#closed(name)
    // not in the scope of the process that adds it, which may end before
    outside(() => client.onState((next) => this.#watchers.tell(name, next)))
    // one of this process may be ready by now: no change would tell that there is a client
    this.#watchers.tell(name, client.state)
    return client
  }

  async #close(): Promise<void> {
    const { supervisor } = this.#parts
    const places = [...this.#places.values()]
    for (const { leaving } of places) leaving.abort()
    await Promise.all(places.map(({ client }) => client?.close()))
    if (supervisor.ref.alive) await supervisor.stop().catch(() => {})
    await lastTurns(this.#parts.settings.tree.clock)
    this.#watchers.end()
  }

  #closed(name: string): ClientError {
    const message = `client ${name} cannot be started: ${this.name} is closed`
    return callError('CLOSED', message, { sent: false, retryable: false })
  }
}

const methods = methodNames(Clients)

function named(error: ClientError, client: string): ClientError {
  const { code, retryable, data, cause } = error
  return new ClientError(code, `${client}: ${messageOf(error)}`, {
    retryable,
    data: { ...(data as object), client },
    cause: cause ?? error,
  })
}

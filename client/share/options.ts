import { orElse } from '../../runtime/base/read-options.js'
import type { LogOptions } from '../../runtime/faults/log.js'
import { Registry } from '../../runtime/process/registry.js'
import type { TreeOptions } from '../../runtime/process/root.js'
import { readSocketPath } from '../../transports/shared/local-socket.js'
import { usualMessageBytes } from '../../transports/contract/message-sizes.js'
import { Client } from '../handle/client.js'
import { Clients } from '../fleet/clients.js'
import { readTreeOptions, treeFields } from '../options/options.js'
import { clientActorName } from '../base/names.js'
import { bad, readCount, readFields, readGroup, readMs, readText } from '../base/read-options.js'

/** How much is taken at once of programs that use shared clients. */
export interface ShareLimitOptions {
  /** Connections. Default 1,000. */
  readonly connections?: number
  /** Calls under way of one connection; more are refused, and may be retried. Default 1,000. */
  readonly calls?: number
  /** Bytes of a message; a longer one fails its call. Default 16 MiB, less where the heap is small. */
  readonly messageBytes?: number
  /**
   * Bytes that may wait for a program; beyond it notifications are dropped and the program is not read from.
   * One that reads nothing for 30 s is cut off. Default 4 MiB.
   */
  readonly bufferedBytes?: number
}

/** Where clients are shared, and how they are bounded. */
export interface ShareLimits {
  /**
   * Absolute path of a Unix domain socket in a folder of yours, with mode 0600: only programs of your user
   * can use it. On Windows a pipe, `\\.\pipe\name`.
   */
  readonly path: string
  /** Shown in trees, events and errors. Default `share`. */
  readonly name?: string
  /** The names that are shared. Default all there are. */
  readonly names?: readonly string[]
  /** How much there may be at once. */
  readonly limits?: ShareLimitOptions
  /**
   * Milliseconds that a new connection waits for a client that is not ready; then it is made again. Default
   * 20,000.
   */
  readonly readyTimeout?: number
  /** Milliseconds that a call may take, whatever the timeout of its program is. Default 3,600,000. */
  readonly callTimeout?: number
  /** Milliseconds that calls in flight are given at an orderly end. Default 5000. */
  readonly drainTimeout?: number
}

/** What `shareClients` takes besides: options of its tree. */
export interface ShareOptions extends ShareLimits, TreeOptions, LogOptions {}

/** What can be shared: those of `startClients`, also those added later; clients; or all of a registry. */
export type Shareable = Client | readonly Client[] | Clients | Registry

export type ShareSettings = Readonly<Required<Omit<ShareLimits, 'names' | 'limits'>>> & {
  readonly limits: ReturnType<typeof readLimits>
  readonly names: ReadonlySet<string> | undefined
}

export interface ShareSource {
  names(): readonly string[]
  registryOf(name: string): Registry | undefined
}

const fields = ['path', 'name', 'names', 'limits', 'readyTimeout', 'callTimeout', 'drainTimeout']

const readLimits = readGroup({
  connections: orElse(readCount, 1_000),
  calls: orElse(readCount, 1_000),
  messageBytes: orElse(readCount, usualMessageBytes()),
  bufferedBytes: orElse(readCount, 4 * 1024 * 1024),
})

/** Throws BAD_OPTION. */
export function readShareLimits(options: ShareLimits): ShareSettings {
  const given = readFields(options, 'options', fields)
  return Object.freeze({
    path: readPath(given.path),
    name: given.name === undefined ? 'share' : readText(given.name, 'name'),
    names: given.names === undefined ? undefined : readNames(given.names),
    limits: readLimits(given.limits, 'limits'),
    readyTimeout: readMs(given.readyTimeout, 'readyTimeout', 20_000),
    callTimeout: readMs(given.callTimeout, 'callTimeout', 3_600_000),
    drainTimeout: readMs(given.drainTimeout, 'drainTimeout', 5_000),
  })
}

/** Throws BAD_OPTION. */
export function readShareOptions(options: ShareOptions): {
  settings: ShareSettings
  tree: TreeOptions & LogOptions
} {
  readFields(options, 'options', [...fields, ...treeFields])
  const { clock, registry, unowned, onBlocked, blockedAfter, logger, logLevels, ...limits } = options
  const { unowned: _, ...tree } = readTreeOptions(options)
  // programs depend on it as on a server, so its default is not that of clients
  return { settings: readShareLimits(limits), tree: { ...tree, ...(unowned !== undefined && { unowned }) } }
}

/** Throws BAD_OPTION. */
export function readShareable(clients: Shareable): ShareSource {
  if (clients instanceof Clients) return { names: () => clients.names, registryOf: () => clients.registry }
  if (clients instanceof Registry) return registrySource(clients)
  const given: readonly unknown[] = Array.isArray(clients) ? clients : [clients]
  const all = new Map<string, Client>()
  for (const client of given) {
    if (!(client instanceof Client))
      throw bad('clients', 'clients, what startClients answers, or a Registry', client)
    if (all.has(client.name)) throw bad('clients', 'names that differ', client.name)
    all.set(client.name, client)
  }
  // closed clients are not shared any more
  const names = (): string[] =>
    [...all].flatMap(([name, { state }]) => (state.phase === 'closed' ? [] : [name]))
  return { names, registryOf: (name) => all.get(name)?.registry }
}

export function registrySource(registry: Registry): ShareSource {
  const prefix = clientActorName('')
  const names = (): string[] =>
    registry.names().flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  return { names, registryOf: () => registry }
}

function readPath(value: unknown): string {
  try {
    return readSocketPath(value, 'path')
  } catch {
    throw bad('path', 'an absolute path of at most 103 bytes, or the name of a pipe on Windows', value)
  }
}

function readNames(value: unknown): ReadonlySet<string> {
  if (!Array.isArray(value)) throw bad('names', 'an array of names', value)
  return new Set(value.map((name, index) => readText(name, `names[${index}]`)))
}

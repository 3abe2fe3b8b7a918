import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { entryOf } from '../../runtime/base/entries.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { type PeerOptions, readPeerOptions } from '../../runtime/peers/options.js'
import type { Sharing } from '../../transports/contract/sharing.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import {
  readLimits,
  readTimeouts,
  readTransport,
  listenerFields,
  serverFields,
  type ServerOptions,
} from '../holdings/options.js'
import { inMemory } from '../engine/in-memory.js'
import type { ClusterEngine } from '../engine/engine.js'
import { LocalEngine, type LocalEngineParts, readEngine } from '../engine/local-engine.js'
import type { NodeEngine } from './node-ref.js'

/**
 * How a server is run by several processes. What is no plain data (functions, an engine of your own) is
 * exported by the server's module, as `options`.
 */
export interface ProcessesOptions extends Omit<ServerOptions, 'start'> {
  /** How many processes serve. Default: as many as there are processors. */
  readonly processes?: number
  /** Environment variables of the processes, besides those of this program. */
  readonly env?: Readonly<Record<string, string>>
  /** Arguments of node, such as `--import`. Default: those of this program. */
  readonly execArgv?: readonly string[]
  /** Bytes that one process may use; one that uses more is ended. Default: no limit but Node's. */
  readonly memory?: number
  /** Milliseconds that the event loop of a process may be blocked before it is killed. Default 5000. */
  readonly blockedTimeout?: number
}

const { badOption: bad, readFields, readLimit, readMs, readText } = readersOf()
const ownFields = ['processes', 'env', 'execArgv', 'memory', 'blockedTimeout']

export type ProcessesSettings = ReturnType<typeof readProcessesOptions>

/** Reads what is for the parent; the rest is for the nodes, which read it. Throws BAD_OPTION. */
export function readProcessesOptions(module: URL, options: ProcessesOptions) {
  const example = 'startServer(module, { transport: serveHttp({ port: 3000 }), processes: 4 })'
  readFields(options, 'options', [...serverFields, ...ownFields], '', example, listenerFields)
  const { transport, processes, env, execArgv, memory, blockedTimeout, engine: given, ...server } = options
  if (module.protocol !== 'file:' || !existsSync(fileURLToPath(module)))
    throw bad(
      'definition',
      'what defineServer returns, or the file: URL of a module that is there',
      module.href,
    )
  const engine = readEngine(given) ?? inMemory()
  const local = engine instanceof LocalEngine ? LocalEngine.parts(engine) : undefined
  if (local?.isShared === true)
    throw bad('engine', 'one that no other program shares (records without shared)', engine.name)
  const blocked = readMs(blockedTimeout, 'blockedTimeout', 5_000)
  const { sharing } = readTransport(transport, 'transport')
  if (sharing === undefined)
    throw bad('transport', 'one that several processes can share, such as serveHttp()', transport.name)
  for (const [field, value] of Object.entries(server)) checkCopy(field, value)
  return Object.freeze({
    module: module.href,
    count: readLimit(processes, 'processes', availableParallelism()),
    name: readText(options.name, 'name', nameOf(module)),
    sharing: sharing as Sharing,
    transport: { name: transport.name, options: sharing.options() },
    /** The engine that this program hosts; undefined where each process opens its own. */
    local,
    engine: local === undefined ? openedBy(engine as ClusterEngine) : hostedBy(local, blocked),
    limits: readLimits(options.limits, 'limits'),
    timeouts: readTimeouts(options.timeouts, 'timeouts'),
    server,
    peer: readPeer({ env, execArgv, memory, blockedTimeout }),
  })
}

/** Milliseconds that a process may be late, beyond those in which one that is blocked is killed. */
const spare = 5_000

/** A lease is over only for a process that is about to be killed: the end of any other is known at once. */
function hostedBy({ name, ids, maxBytes }: LocalEngineParts, blockedTimeout: number): NodeEngine {
  const lease = Math.min(longestLease, blockedTimeout + spare)
  const settings = { lease, keys: undefined, maxInbox: 10_000, isPrivate: true }
  return { kind: 'hosted', name, settings, maxBytes, sealed: ids?.options }
}

/** Milliseconds after which others take over from a process that is blocked, and not killed for that. */
const longestLease = 60_000

function openedBy({ name, options }: ClusterEngine): NodeEngine {
  if (options !== undefined) return { kind: 'redis', options }
  throw bad(
    'engine',
    'one that can be copied to other processes; export it from the module, in `options`',
    name,
  )
}

/** How each process is run; wrong options throw before one starts. */
function readPeer(given: { readonly [Field in keyof PeerOptions]?: PeerOptions[Field] | undefined }) {
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const peer: PeerOptions = { ...options, kind: 'process', module: entryOf('server/node.js') }
  try {
    readPeerOptions(peer)
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    throw optionError((error.data as { readonly field: string }).field, error.message, error)
  }
  return peer
}

function checkCopy(field: string, value: unknown): void {
  try {
    structuredClone(value)
  } catch {
    throw bad(field, 'what can be copied to other processes; export it from the module, in `options`', value)
  }
}

function nameOf(module: URL): string {
  const file = module.pathname.slice(module.pathname.lastIndexOf('/') + 1)
  return decodeURIComponent(file.replace(/\.[cm]?[jt]s$/, ''))
}

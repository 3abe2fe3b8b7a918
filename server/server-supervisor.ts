import type { ChildOverrides, ChildSpec } from '../runtime/supervision/child-spec.js'
import { lazy } from '../runtime/faults/load.js'
import type { ServerDefinition } from './definitions/define-server.js'
import {
  readServerOptions,
  type ServerOptions,
  splitServerOptions,
  type TreeWideOptions,
} from './holdings/options.js'
import type { ServerProcesses } from './processes/handle.js'
import type { ProcessesOptions } from './processes/options.js'
import type { Server } from './server.js'
import { hasTerminal, stopOnSignals } from './base/signals.js'
import { noteNotReloaded } from './notices.js'
import { causeOf, type OptionalParts, specOf, startTree } from './server-tree.js'

/**
 * Starts a server as a tree of its own and resolves once it listens. Rejects with ServerError BAD_DEFINITION
 * or BAD_OPTION, TransportError LISTEN_FAILED (port taken), RuntimeError IGNORED (option `start`), and
 * ALREADY_STARTED: `data.server` is then the server of that name in `registry`.
 */
export function startServer(
  definition: ServerDefinition,
  options: ServerOptions & TreeWideOptions,
): Promise<Server>
/**
 * Starts a server that several processes serve. The module's default export, or only server, is what
 * `defineServer` returns; each process imports it, and this program runs none of its code: it owns the port
 * and the sessions. A session that a process dies with goes on in another one, and so does one that is
 * replaced (`reload`). Rejects as above, with the error of a process that does not start.
 */
export function startServer(
  module: URL,
  options: ProcessesOptions & Omit<TreeWideOptions, 'onBlocked' | 'blockedAfter'>,
): Promise<ServerProcesses>
export function startServer(
  definition: ServerDefinition | URL,
  options:
    | (ServerOptions & TreeWideOptions)
    | (ProcessesOptions & Omit<TreeWideOptions, 'onBlocked' | 'blockedAfter'>),
): Promise<Server | ServerProcesses> {
  // a start that fails, and that nobody awaits, is to end the program: it would end without a word
  if (definition instanceof URL) return startModule(definition, options as ProcessesOptions)
  return start(definition, options as ServerOptions & TreeWideOptions)
}

const loadProcesses = /* @__PURE__ */ lazy(
  '../../server/processes/start.js',
  () => import('./processes/start.js'),
)

async function startModule(module: URL, options: ProcessesOptions): Promise<ServerProcesses> {
  const { startProcesses } = await loadProcesses()
  try {
    return await startProcesses(module, options)
  } catch (error) {
    throw causeOf(error) ?? error
  }
}

async function start(
  definition: ServerDefinition,
  options: ServerOptions & TreeWideOptions,
): Promise<Server> {
  const { own, treeWide, signals } = splitServerOptions(options)
  const read = readServerOptions(definition, own, parts)
  const server = await startTree(read, treeWide)
  if (signals)
    server.ref.onExit(
      stopOnSignals({
        stop: () => server.stop(),
        // a program that listens for it reloads what it likes
        hangUp: async () => {
          if (process.listenerCount('SIGHUP') === 1) noteNotReloaded(server.ref, read.name)
        },
        endsOnHangUp: hasTerminal(),
      }),
    )
  return server
}

/**
 * The child spec of a server below a supervisor of yours; a start hands out the `Server` as `extra`. A server
 * on standard input ends normally with its input, so give it `restart: 'transient'`. One that is not to be
 * started (option `start`) is an ignored child: the rest of the tree starts. Started again in the same tree,
 * it listens where it did. Throws ServerError BAD_DEFINITION or BAD_OPTION.
 */
export function serverSpec(
  definition: ServerDefinition,
  options: ServerOptions,
  overrides: ChildOverrides = {},
): ChildSpec {
  return specOf(readServerOptions(definition, options, parts), overrides)
}

/** The child spec of a server that is one of several nodes. Default of `node`, its name: a random one. */
export function nodeSpec(definition: ServerDefinition, options: ServerOptions, node?: string): ChildSpec {
  return specOf(readServerOptions(definition, options, parts), {}, node)
}

/** All that there is, each loaded at its first use. */
const parts: OptionalParts = {
  auditor: /* @__PURE__ */ lazy('../../server/holdings/auditor.js', () => import('./holdings/auditor.js')),
  logins: /* @__PURE__ */ lazy(
    '../../server/holdings/gateway-logins.js',
    () => import('./holdings/gateway-logins.js'),
  ),
  clustered: /* @__PURE__ */ lazy('../../server/clustered.js', () => import('./clustered.js')),
  tasks: /* @__PURE__ */ lazy('../../server/tasks/tasks.js', () => import('./tasks/tasks.js')),
  taskTree: /* @__PURE__ */ lazy('../../server/tasks/supervisor.js', () => import('./tasks/supervisor.js')),
  pool: /* @__PURE__ */ lazy(
    '../../server/isolation/pool-actor.js',
    () => import('./isolation/pool-actor.js'),
  ),
  isolated: /* @__PURE__ */ lazy(
    '../../server/isolation/isolated-calls.js',
    () => import('./isolation/isolated-calls.js'),
  ),
  gateway: /* @__PURE__ */ lazy('../../server/gateway/actor.js', () => import('./gateway/actor.js')),
  machine: /* @__PURE__ */ lazy(
    '../../server/holdings/session-machine.js',
    () => import('./holdings/session-machine.js'),
  ),
  rates: /* @__PURE__ */ lazy('../../server/holdings/rates.js', () => import('./holdings/rates.js')),
}

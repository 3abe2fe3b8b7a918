import { randomBytes } from 'node:crypto'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import { lazy } from '../../runtime/faults/load.js'
import type { ActorRef } from '../../runtime/process/ref.js'
import type { Binding } from '../../transports/contract/contract.js'
import { emitTransport, originHere } from '../../transports/contract/events.js'
import { TransportError } from '../../transports/base/errors.js'
import { warnOfScopes } from '../catalog/authorization.js'
import { Catalog } from '../catalog/catalog.js'
import type { Changes } from '../context/changes.js'
import type { ServerDefinition } from '../definitions/define-server.js'
import type { ServerSettings } from './options.js'
import { RequestStates, sealRequestStates } from './request-state.js'
import { RestoreLimit } from './restore-limit.js'
import { createMemoryStore, type SessionStore } from '../stores/session-store.js'
import type { WaitingBytes } from './waiting-line.js'

/** What outlives every restart of a server's group, and is passed in to it. */
export interface Holdings {
  readonly settings: ServerSettings
  readonly place: Place
  /** The port, or the pipes. */
  readonly binding: Binding
  readonly store: SessionStore
  readonly catalog: Catalog
  readonly restores: RestoreLimit
  readonly requestStates: RequestStates
  readonly waiting: WaitingBytes
  readonly changes: Changes
}

/** What holdings are started with. */
export interface HoldingsInput {
  readonly settings: ServerSettings
  readonly place: Place
  /** The supervisor of the server. */
  readonly supervisor: ActorRef
  readonly changes: Changes
}

/**
 * Where a server is: outlives even the holdings and their supervisor, so that they come back to the same
 * port.
 */
export interface Place {
  binding: Binding | undefined
  /** The supervisor of the server, as it was last started; undefined before its first start. */
  supervisor: ActorRef | undefined
}

/** The machine of sessions, by which each of them goes from phase to phase. */
export const loadSessionMachine = lazy(
  '../../server/holdings/session-machine.js',
  () => import('./session-machine.js'),
)

/**
 * Owns what must outlive the group: the port, the sessions' store, the tools added at run time. It does
 * nothing else.
 */
export const holdingsActor = defineActor({
  name: 'holdings',
  stray: 'report',
  async init(
    { settings, place, supervisor, changes }: HoldingsInput,
    ctx: ActorContext,
  ): Promise<Holdings & { [describe](): string }> {
    const { definition, transport, maxSessions, idleTimeout } = settings
    if (transport.name === 'stdio') warnOfScopes(definition)
    // whoever can be reached from outside may want for file descriptors later
    else await prepare(definition)
    const binding = await bind(settings, place, ctx)
    place.binding = binding
    const { url, port } = binding
    const about = { ...originHere(transport.name), server: settings.name, url, port }
    emitTransport('listener', () => ({ ...about, type: 'listening' }))
    ctx.own(() => emitTransport('listener', () => ({ ...about, type: 'stopped' })))
    place.supervisor = supervisor
    const { now } = ctx.clock
    return {
      settings,
      place,
      binding,
      store: settings.store ?? createMemoryStore({ maxSessions, idleTimeout, now }),
      catalog: new Catalog(definition, settings),
      restores: new RestoreLimit(),
      waiting: { bytes: 0 },
      changes,
      requestStates: new RequestStates({
        sealing: settings.requestStates ?? sealRequestStates([randomBytes(32)]),
        server: definition.info.name,
      }),
      [describe]: () => binding.url ?? transport.name,
    }
  },
  call: {
    share: (holdings): Holdings => holdings,
  },
})

/** Loads what sessions and the checking of values take, before the first one comes. */
async function prepare({ tools, lowLevel }: ServerDefinition): Promise<void> {
  await loadSessionMachine()
  const params = [...lowLevel.methods.values()].map((method) => method.params)
  const schemas = [...tools.flatMap(({ schema, output }) => [schema, output]), ...params]
  for (const schema of schemas) await schema?.prepare?.()
}

/**
 * Where it was before, if that is still to be had: somebody else may have taken the port meanwhile, and any
 * will do where none was asked for.
 */
async function bind({ transport }: ServerSettings, { binding }: Place, ctx: ActorContext): Promise<Binding> {
  if (binding === undefined) return transport.bind(ctx)
  try {
    return await transport.bind(ctx, binding)
  } catch (error) {
    if (!(error instanceof TransportError && error.code === 'LISTEN_FAILED')) throw error
    return transport.bind(ctx)
  }
}

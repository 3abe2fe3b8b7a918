import { type ChildOverrides, type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import { messageOf, RuntimeError } from '../../runtime/base/errors.js'
import { subscribe } from '../../runtime/faults/events.js'
import { handled, lastTurns } from '../../runtime/base/promise.js'
import type { ActorRef, ProcessRef } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import { startSupervisor, supervisorSpec } from '../../runtime/supervision/supervise.js'
import type { SupervisorOptions } from '../../runtime/supervision/options.js'
import { linkActor } from '../../transports/link/actor.js'
import { goneError, isClosed } from '../holdings/gone.js'
import { Client, type ClientParts } from './client.js'
import { clientActor } from '../connection/client-actor.js'
import type { Demand } from '../base/demand.js'
import { callError, type ClientError, type ClientErrorCode } from '../base/errors.js'
import { Holdings } from '../holdings/holdings.js'
import { clientActorName, transportName } from '../base/names.js'
import {
  type ClientOptions,
  type ClientSettings,
  readClientOptions,
  readRegistry,
  readStartOptions,
  type StartClientOptions,
} from '../options/options.js'
import { bad, readMs, readOptions, readText } from '../base/read-options.js'

/**
 * Starts a client in a supervised tree of its own and answers its handle at once, while it still connects;
 * calls may be made right away. Throws BAD_OPTION, naming the field; whatever else goes wrong is told by
 * `ready()`, the calls, and `closed`.
 */
export function startClient(options: StartClientOptions): Client {
  const { client: settings, tree } = readStartOptions(options)
  const registry = tree.registry ?? new Registry()
  checkName(registry, settings)
  const holdings = new Holdings(settings)
  const starting = handled(startSupervisor({ ...group(settings, holdings), ...tree, registry }))
  const client = new Client({
    registry,
    settings,
    holdings,
    stop: async () => {
      const supervisor = await starting
      if (supervisor.ref.alive) await supervisor.stop()
      await lastTurns()
    },
  })
  void followName(holdings, registry, starting)
  return client
}

/**
 * The child spec of a client for a tree of yours; its start hands out the handle as `extra`, and `findClient`
 * finds it by name. Under `permanent` (the default) a client that gave up counts as one restart of its
 * parent. Throws BAD_OPTION, naming the field.
 */
export function clientSpec(options: ClientOptions, overrides: ChildOverrides = {}): ChildSpec {
  return specOf(readClientOptions(options), overrides)
}

/**
 * For those who bring clients back: the same of checked options; `demand` is whoever waits, also while there
 * is no client.
 */
export function specOf(settings: ClientSettings, overrides: ChildOverrides = {}, demand?: Demand): ChildSpec {
  // One spec may be started in several trees; started again in the same one, it is the same client.
  const places = new WeakMap<Registry, Holdings>()
  const of = (holdings: Holdings): ChildSpec =>
    supervisorSpec(group(settings, holdings), { id: `client ${settings.name}`, ...overrides })
  return {
    ...of(new Holdings(settings)),
    async start(ctx) {
      const { registry } = ctx
      const known = places.get(registry)
      const holdings = known === undefined || known.over ? new Holdings(settings, demand) : known
      places.set(registry, holdings)
      const ref = (await of(holdings).start(ctx)) as ProcessRef
      if (holdings !== known) void followName(holdings, registry, Promise.resolve())
      return { ref, extra: new Client({ registry, settings, holdings, stop: async () => {} }) }
    },
  }
}

/**
 * A handle to a running client of any tree, by its name. Rejects with BAD_OPTION, naming the field, NOT_FOUND
 * (nobody is a client of that name), GAVE_UP (it has ended for good), TIMEOUT (it was not started within
 * `timeout` ms, default 5000) or NOT_READY (it crashed while it was asked, or has no room).
 */
export function findClient(
  registry: Registry,
  name: string,
  options: { readonly timeout?: number } = {},
): Promise<Client> {
  return handled(find(registry, name, options))
}

async function find(registry: Registry, name: string, options: object): Promise<Client> {
  const { timeout } = readOptions(options, ['timeout'], '{ timeout: 5000 }')
  return new Client(await findParts(registry, name, readMs(timeout, 'timeout', 5_000)))
}

/** What a handle to a running client is made of; rejects as `findClient` does. */
export async function findParts(registry: Registry, name: string, timeout: number): Promise<ClientParts> {
  readRegistry(registry)
  const actor = registry.named<typeof clientActor>(clientActorName(readText(name, 'name')))
  try {
    const { settings, holdings } = await actor.call('handle', undefined, { timeout })
    return { registry, settings, holdings, stop: async () => {} }
  } catch (error) {
    throw notFound(name, error)
  }
}

function notFound(name: string, cause: unknown): ClientError {
  // A process of that name that does not know what it is asked for is no client.
  const code = (cause instanceof RuntimeError ? findCodes.get(cause.code) : undefined) ?? 'NOT_FOUND'
  const retryable = code === 'TIMEOUT' || code === 'NOT_READY'
  return callError(code, `client ${name} cannot be found: ${messageOf(cause)}`, {
    sent: false,
    retryable,
    cause,
  })
}

const findCodes: ReadonlyMap<string, ClientErrorCode> = new Map([
  ['GAVE_UP', 'GAVE_UP'],
  ['TIMEOUT', 'TIMEOUT'],
  ['EXITED', 'NOT_READY'],
  ['MAILBOX_FULL', 'NOT_READY'],
])

/**
 * The client and its transport live and die together: a new client must not inherit a connection it knows
 * nothing of.
 */
function group(settings: ClientSettings, holdings: Holdings): SupervisorOptions {
  const { name, transport, intensity, periodMs } = settings
  const owner = clientActorName(name)
  return {
    name: groupName(name),
    strategy: 'one_for_all',
    intensity,
    periodMs,
    children: [
      childSpec(clientActor, { settings, holdings }, { name: owner, startTimeout: Number.POSITIVE_INFINITY }),
      childSpec(
        linkActor,
        { transport, owner, gauge: holdings.gauge },
        { name: transportName(name), shutdown: 8_000 },
      ),
    ],
  }
}

function groupName(name: string): string {
  return `client ${name}`
}

function checkName(registry: Registry, { name }: ClientSettings): void {
  const { state } = registry.state(clientActorName(name))
  if (state === 'up' || state === 'starting')
    throw bad('name', 'one that no client in this registry has', name)
}

/**
 * Waits until no supervisor brings the client back any more, and tells the last state then: also when it
 * could not be started.
 */
export async function followName(
  holdings: Holdings,
  registry: Registry,
  starting: Promise<unknown>,
): Promise<void> {
  const name = clientActorName(holdings.name)
  // A supervisor that gives up stops its other children, and then itself, with `shutdown`, as in an orderly
  // end: exits do not tell.
  const unsubscribe = subscribe('supervisor', ({ tree, supervisor, reason }) => {
    if (reason === 'reached_max_restart_intensity' && tree === holdings.tree)
      holdings.gaveUp ||= supervisor === holdings.group?.name
  })
  try {
    await starting
    holdings.started = true
    for (;;) {
      const actor: ActorRef = await registry.whenUp(name, Number.POSITIVE_INFINITY)
      await new Promise((resolve) => actor.onExit(resolve))
    }
  } catch (error) {
    const closed = isClosed(holdings, registry)
    const reason = closed
      ? undefined
      : goneError(`client ${holdings.name}`, holdings, registry, { sent: false, cause: error })
    holdings.end({ phase: closed ? 'closed' : 'failed', reason, attempt: 0, delay: undefined })
  } finally {
    unsubscribe()
  }
}

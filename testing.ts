import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Client } from './client/handle/client.js'
import { startClient } from './client/handle/supervisor.js'
import type { ClientEvents } from './client/base/events.js'
import { clientActorName, transportName } from './client/base/names.js'
import type { ClientOptions } from './client/options/options.js'
import type { ClientState } from './client/base/state.js'
import { outside } from './runtime/faults/containment.js'
import { systemWorld, worldOf } from './runtime/time/world.js'
import { crashActor } from './runtime/watch/crash.js'
import { RuntimeError, show } from './runtime/base/errors.js'
import type { RuntimeEvents } from './runtime/faults/events.js'
import type { LogLevels, LogOptions } from './runtime/faults/log.js'
import type { ExitReason } from './runtime/base/exit.js'
import type { ServerTypes } from './protocol/messages/server-types.js'
import { badOption, checkFields } from './runtime/base/check.js'
import { handled } from './runtime/base/promise.js'
import { Recording, type WaitOptions, waitFor } from './runtime/watch/recording.js'
import { ProcessRef } from './runtime/process/ref.js'
import { Registry } from './runtime/process/registry.js'
import type { ServerDefinition } from './server/definitions/define-server.js'
import type { ServerEvents } from './server/base/events.js'
import { namesOf, type ServerNames } from './server/base/names.js'
import type { ServerOptions, TreeWideOptions } from './server/holdings/options.js'
import { Server } from './server/server.js'
import { startServer } from './server/server-supervisor.js'
import type { ClientTransport } from './transports/contract/contract.js'
import type { Principal } from './transports/contract/principal.js'
import type { TransportEvents } from './transports/contract/events.js'
import { memory } from './transports/connections/memory.js'

export { connectionMachine } from './client/connection/client-machine.js'
export { type DefineEngineTest, type EngineSuiteOptions, engineSuite } from './server/engine-suite/suite.js'
export type { EngineBench, EngineLack } from './server/engine-suite/trial.js'
export {
  type FakeIdentityProvider,
  fakeIdentityProvider,
  type FakeIdentityProviderOptions,
  type FakeUser,
} from './transports/authorization/fake-provider.js'
export { sessionMachine } from './server/holdings/session-machine.js'
export { createFakeClock as fakeClock, type FakeClock } from './runtime/time/fake-clock.js'
export { Recording, type WaitOptions } from './runtime/watch/recording.js'
export {
  type ScriptedClient,
  type ScriptedClientOptions,
  type ScriptedGreeting,
  scriptedClient,
} from './transports/scripted/client.js'
export type { Answering, Script, ScriptedAnswer, ScriptedPeer } from './transports/scripted/peer.js'
export {
  type ScriptedServer,
  type ScriptedServerOptions,
  scriptedServer,
} from './transports/scripted/server.js'

/**
 * How a connected pair is run: what belongs to both trees is said once. Unless told, only errors that belong to
 * no call are logged (`stray`: a promise that nobody awaited, an answer of `onElicit` that fits no form), and
 * `onBlocked` is `ignore`.
 */
export interface ConnectOptions extends TreeWideOptions {
  /**
   * As for `startServer`, without the transport; `exposeErrors` and `start` are true unless told: a test sees
   * what crashed, and its server always starts.
   */
  readonly server?: Omit<ServerOptions, 'transport'> & LogOptions
  /** As for `startClient`, without the transport. A `logger` of one side is that of its tree alone. */
  readonly client?: Omit<ClientOptions, 'transport'> & LogOptions
  /**
   * Whose the client is, as `authenticate` of a listener would say: tools get it (`ctx.principal`), and its
   * scopes are checked. Default: nobody's, and trusted with all, as over standard input.
   */
  readonly principal?: Principal
}

/** A server and a client of it, each in a tree of its own, in this process. */
export interface Connected<Served = unknown> extends AsyncDisposable {
  readonly server: Server
  /** Its `tools` have the types of the definition. */
  readonly client: Client<Served>
  /** For more clients of this server, scripted ones too. */
  readonly transport: ClientTransport
  /** For clients of other users. Throws BAD_OPTION. */
  connectAs(principal: Principal): ClientTransport
  /**
   * Closes the client and stops the server; a fake clock is moved on while something waits for time. May be
   * called again.
   */
  close(): Promise<void>
}

/** Every event of this library by name: the channel of `node:diagnostics_channel` without its `caduceus.`. */
export type TestingEvents = RuntimeEvents & {
  [Name in keyof TransportEvents as `transport.${Name}`]: TransportEvents[Name]
} & { [Name in keyof ServerEvents as `server.${Name}`]: ServerEvents[Name] } & {
  [Name in keyof ClientEvents as `client.${Name}`]: ClientEvents[Name]
}

/**
 * What can be made to crash: a process, what has one (a session of `server.sessions()`), a client, a server.
 */
export type Crashable = ProcessRef | { readonly ref: ProcessRef | undefined } | Client | Server

/** How something is made to crash. */
export interface CrashOptions extends WaitOptions {
  /**
   * Which process: of a server `base` (the default), `transport`, `tasks`, `sessions`, `group`, `hooks`,
   * `isolation` or `holdings`; of a client `client` (the default) or `transport`.
   */
  readonly part?: Exclude<keyof ServerNames, 'session'> | 'client'
  /** What is thrown. Default: an Error that says that it was asked for. */
  readonly error?: unknown
}

/** Errors that belong to no call: no assertion of a test would see them. */
const strayOnly: LogLevels = Object.freeze({
  ...{ crash: 'silent', supervisor: 'silent', notice: 'silent', blocked: 'silent', progress: 'silent' },
  ...{ 'client.warning': 'silent', 'client.log': 'silent', 'transport.notice': 'silent' },
  ...{ 'server.node': 'silent', 'server.gateway': 'silent', 'server.notice': 'silent' },
})

/**
 * Starts a server of this definition and a client of it, connected in memory, without port or process. What
 * they send passes as JSON. Resolves once calls can be made. The result of a tool that crashes has its message,
 * and the error as `cause`. Rejects as `startServer` and `client.ready` do, and with
 * BAD_OPTION.
 */
export async function connect<Types extends ServerTypes>(
  definition: ServerDefinition<Types>,
  options: ConnectOptions = {},
): Promise<Connected<Types>> {
  checkFields(options, connectFields)
  const { server: ofServer, client: ofClient, principal, ...treeWide } = options
  const both = { registry: new Registry(), onBlocked: 'ignore' as const, ...treeWide }
  const levelsOf = (side: LogOptions = {}): LogOptions =>
    side.logger === undefined && treeWide.logger === undefined ? { logLevels: strayOnly } : {}
  const { serve, connect: transport, connectAs } = memory(principal === undefined ? {} : { principal })
  const { start = true, exposeErrors = true } = ofServer ?? {}
  const fixed = { start, exposeErrors, signals: false, transport: serve }
  const server = await startServer(definition, { ...levelsOf(ofServer), ...both, ...ofServer, ...fixed })
  let client: Client<Types> | undefined
  const closeBoth = async (): Promise<void> => {
    await client?.close()
    await server.stop()
  }
  const ending: { closed?: Promise<void> } = {}
  const close = (): Promise<void> => (ending.closed ??= inTime(options.clock, closeBoth()))
  try {
    client = startClient<Types>({ ...levelsOf(ofClient), ...both, ...ofClient, transport })
    await client.ready()
  } catch (error) {
    await close()
    throw error
  }
  return Object.freeze({ server, client, transport, connectAs, close, [Symbol.asyncDispose]: close })
}

/**
 * Has a process crash as by a bug of its own: its next message, after those that wait, throws. Resolves with
 * the reason once it has ended. Its successor is starting then, and calls by a handle or a name find it.
 * Rejects with RuntimeError NOPROC when there is no such process, TIMEOUT, or BAD_OPTION.
 */
export async function crash(what: Crashable, options: CrashOptions = {}): Promise<ExitReason> {
  checkFields(options, ['part', 'error', 'timeout', 'signal', 'clock'])
  const { part, error = new Error('a crash that a test asked for'), ...wait } = options
  return crashActor(processIn(what, part), error, wait)
}

/**
 * Records every event of one name from now on, of all trees in this process of Node, until it is stopped
 * (`using`, `stop()`). Its `next(fits)` waits without asking again and again. Throws BAD_OPTION for a name
 * that no event has.
 */
export function record<Name extends keyof TestingEvents>(name: Name): Recording<TestingEvents[Name]> {
  checkEvent(name)
  const recording = new Recording<TestingEvents[Name]>(name)
  return recording.stopWith(hear(name, (event) => recording.add(event as TestingEvents[Name])))
}

/**
 * The next event of that name that fits: call it before what leads to the event, await it afterwards. Rejects
 * with RuntimeError TIMEOUT after `timeout` ms (default 5000), whose `data.seen` is what came instead.
 */
export function until<Name extends keyof TestingEvents>(
  event: Name,
  fits?: (event: TestingEvents[Name]) => boolean,
  options?: WaitOptions,
): Promise<TestingEvents[Name]>
/** The first state of a client that fits, the present one included. */
export function until(
  client: Client,
  fits: (state: ClientState) => boolean,
  options?: WaitOptions,
): Promise<ClientState>
/**
 * Resolves once `holds` returns true. It is called now, and after each event of this library, up to two turns
 * of the event loop later. What changes without an event is not seen. Rejects with what it throws, and with
 * TIMEOUT.
 */
export function until(holds: () => boolean | Promise<boolean>, options?: WaitOptions): Promise<void>
export function until(
  what: keyof TestingEvents | Client | (() => boolean | Promise<boolean>),
  ...args: readonly unknown[]
): Promise<unknown> {
  const [first, second] = args
  if (what instanceof Client)
    return handled(untilState(what, first as () => boolean, second as WaitOptions | undefined))
  if (typeof what === 'function') return untilHolds(what, first as WaitOptions | undefined)
  return untilEvent(
    what,
    first as ((event: unknown) => boolean) | undefined,
    second as WaitOptions | undefined,
  )
}

/** Typed so that an event which is new on any floor is missed here. */
const events: Readonly<Record<keyof TestingEvents, true>> = Object.freeze({
  crash: true,
  supervisor: true,
  progress: true,
  stray: true,
  notice: true,
  blocked: true,
  'transport.listener': true,
  'transport.connection': true,
  'transport.stream': true,
  'transport.notice': true,
  'server.session': true,
  'server.request': true,
  'server.work': true,
  'server.notification': true,
  'server.node': true,
  'server.gateway': true,
  'server.notice': true,
  'client.warning': true,
  'client.log': true,
  'client.state': true,
  'client.request': true,
  'client.call': true,
})

const connectFields = [
  ...[
    'server',
    'client',
    'principal',
    'clock',
    'registry',
    'logger',
    'logLevels',
    'unowned',
    'onBlocked',
    'blockedAfter',
  ],
]

async function untilEvent<Name extends keyof TestingEvents>(
  name: Name,
  fits: ((event: TestingEvents[Name]) => boolean) | undefined,
  options: WaitOptions | undefined,
): Promise<TestingEvents[Name]> {
  using recording = record(name)
  return await recording.next(fits, options)
}

async function untilState(
  client: Client,
  fits: (state: ClientState) => boolean,
  options: WaitOptions | undefined,
): Promise<ClientState> {
  const recording = new Recording<ClientState>(`the states of client ${client.name}`)
  recording.add(client.state)
  using _ = recording.stopWith(client.onState((state) => recording.add(state)))
  return await recording.next(fits, options)
}

function untilHolds(holds: () => boolean | Promise<boolean>, options: WaitOptions = {}): Promise<void> {
  const found = waitFor<void>(
    (resolve, reject) => {
      const world = worldOf(options.clock ?? systemWorld)
      let looks = 0
      let looking = false
      const look = async (): Promise<void> => {
        if (looking) return
        looking = true
        while (looks > 0) {
          looks -= 1
          if (await holds()) return resolve()
          if (looks > 0) await new Promise<void>((next) => void world.setImmediate(next))
        }
        looking = false
      }
      // what an event tells of may take a turn or two until it can be seen
      const soon = (): void => {
        looks = 3
        outside(() => void look().catch(reject))
      }
      const undo = Object.keys(events).map((name) => hear(name, soon))
      soon()
      return () => {
        looks = 0
        for (const stop of undo) stop()
      }
    },
    options,
    (timeout) => new RuntimeError('TIMEOUT', `until: what is waited for did not hold within ${timeout} ms`),
  )
  return handled(found)
}

function hear(name: string, fn: (event: unknown) => void): () => void {
  const channel = `caduceus.${name}`
  const listener = (event: unknown): void => fn(event)
  subscribe(channel, listener)
  return () => void unsubscribe(channel, listener)
}

function checkEvent(name: unknown): void {
  if (typeof name === 'string' && Object.hasOwn(events, name)) return
  throw badOption('event', `one of ${Object.keys(events).join(', ')}`, name)
}

function processIn(what: Crashable, part: CrashOptions['part']): ProcessRef {
  if (what instanceof Server) {
    const { session: _session, mcpTask: _task, ...names } = namesOf(what.name)
    return named(what.registry, names, part ?? 'base')
  }
  if (what instanceof Client) {
    const names = { client: clientActorName(what.name), transport: transportName(what.name) }
    return named(what.registry, names, part ?? 'client')
  }
  if (part !== undefined) throw badOption('part', 'none for what is neither a server nor a client', part)
  const ref = what instanceof ProcessRef ? what : what?.ref
  if (ref instanceof ProcessRef) return ref
  if (typeof what === 'object' && what !== null && 'phase' in what)
    throw new RuntimeError(
      'NOPROC',
      'crash: the session hibernates: it has no process until its next message',
    )
  throw badOption('crash', 'a process, a session, a client or a server', what)
}

function named(registry: Registry, names: Readonly<Record<string, string>>, part: string): ProcessRef {
  const name = Object.hasOwn(names, part) ? names[part] : undefined
  if (name === undefined) throw badOption('part', `one of ${Object.keys(names).join(', ')}`, part)
  const ref = registry.whereis(name)
  if (ref === undefined) throw new RuntimeError('NOPROC', `crash: nobody is called ${show(name)} now`)
  return ref
}

/** With a clock that stands still, what waits for time would wait for ever. */
async function inTime(clock: TreeWideOptions['clock'], work: Promise<void>): Promise<void> {
  const { advance } = (clock ?? {}) as { advance?: (ms: number) => Promise<void> }
  const ended = work.then(
    () => true,
    () => true,
  )
  for (let second = 0; advance !== undefined && second < 60; second++) {
    const now = Promise.resolve(false)
    if (await Promise.race([ended, now])) break
    await advance.call(clock, 1_000)
  }
  return work
}

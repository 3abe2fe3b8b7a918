import type { Actor } from '../../runtime/process/actor.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import { type ChildOverrides, type ChildSpec, childSpec } from '../../runtime/supervision/child-spec.js'
import { lazy } from '../../runtime/faults/load.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { dynamicSupervisorSpec } from '../../runtime/supervision/dynamic.js'
import { describe, inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { handled } from '../../runtime/base/promise.js'
import { type ActorRef, type ProcessRef, processOf } from '../../runtime/process/ref.js'
import {
  startSupervisor,
  type Supervisor,
  supervisorAt,
  supervisorSpec,
} from '../../runtime/supervision/supervise.js'
import type { SupervisorOptions } from '../../runtime/supervision/options.js'
import type { Binding } from '../../transports/contract/contract.js'
import { TransportError } from '../../transports/base/errors.js'
import { emitTransport, originHere } from '../../transports/contract/events.js'
import { callError } from '../base/errors.js'
import { ShareDesk, type SharePeer } from './desk.js'
import {
  readShareable,
  readShareLimits,
  readShareOptions,
  registrySource,
  type Shareable,
  type ShareLimits,
  type ShareOptions,
  type ShareSettings,
} from './options.js'

const loadPort = /* @__PURE__ */ lazy('../../client/share/port.js', () => import('./port.js'))

const loadListener = /* @__PURE__ */ lazy(
  '../../transports/shared/listener.js',
  () => import('../../transports/shared/listener.js'),
)

/**
 * Lets other programs of this user use clients by name, over a local socket; their transport is `shared(name,
 * { path })`. Resolves once it listens. Rejects with BAD_OPTION, and TransportError LISTEN_FAILED when the
 * path is taken.
 */
export function shareClients(clients: Shareable, options: ShareOptions): Promise<Share> {
  return handled(start(clients, options))
}

async function start(clients: Shareable, options: ShareOptions): Promise<Share> {
  const { settings, tree } = readShareOptions(options)
  const desk = new ShareDesk(settings, readShareable(clients))
  try {
    return new Share(desk, await startSupervisor({ ...tree, ...group(desk) }), false)
  } catch (error) {
    throw causeOf(error)
  }
}

/**
 * The spec of a share of the clients in its tree's registry; its start hands out the `Share` as `extra`.
 * Throws BAD_OPTION, naming the field.
 */
export function shareSpec(options: ShareLimits, overrides: ChildOverrides = {}): ChildSpec {
  const settings = readShareLimits(options)
  const specOf = (desk: ShareDesk): ChildSpec =>
    supervisorSpec(group(desk), { id: settings.name, ...overrides })
  return {
    ...specOf(new ShareDesk(settings, { names: () => [], registryOf: () => undefined })),
    async start(ctx) {
      const desk = new ShareDesk(settings, registrySource(ctx.registry))
      const ref = (await specOf(desk).start(ctx)) as ActorRef
      return { ref, extra: new Share(desk, supervisorAt(ref), true) }
    },
  }
}

/** Clients that other programs may use by their names, until it is closed. */
export class Share implements AsyncDisposable {
  /**
   * Resolves when it was closed, or has ended in a tree of yours; rejects with GAVE_UP when it crashed too
   * often.
   */
  readonly closed: Promise<void>
  readonly #desk: ShareDesk
  readonly #supervisor: Supervisor
  #closing: Promise<void> | undefined

  /** `isEmbedded`: a supervisor of the user's starts it again, and ends it. */
  constructor(desk: ShareDesk, supervisor: Supervisor, isEmbedded: boolean) {
    this.#desk = desk
    this.#supervisor = supervisor
    this.closed = handled(
      new Promise((resolve, reject) => {
        supervisor.onExit(() => {
          if (isEmbedded || this.#closing !== undefined) return resolve()
          const message = `${this.name}: its tree has ended for good`
          reject(callError('GAVE_UP', message, { sent: false, retryable: false }))
        })
      }),
    )
  }

  get name(): string {
    return this.#desk.settings.name
  }

  /** Its supervisor, as a process. */
  get ref(): ProcessRef {
    return this.#supervisor.ref
  }

  /** The path of its socket. */
  get path(): string {
    return this.#desk.settings.path
  }

  /** The names that are shared now. */
  get names(): readonly string[] {
    return this.#desk.names()
  }

  /** The programs that use them now, one for each connection. */
  peers(): readonly SharePeer[] {
    return this.#desk.peers()
  }

  /** The tree, for `formatTree`. */
  inspect(): TreeNode {
    return inspect(this.#supervisor.ref)
  }

  /**
   * Takes no new connections, gives calls in flight `drainTimeout` ms, ends all connections; clients go on.
   * Never rejects; may be repeated. An embedded share is ended by its supervisor instead.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    if (this.#supervisor.ref.alive) await this.#supervisor.stop().catch(() => {})
  }
}

/** The socket and its connections come first: they outlive the relays and the listener. */
function group(desk: ShareDesk): SupervisorOptions {
  const names = namesOf(desk.settings)
  return {
    name: names.supervisor,
    strategy: 'rest_for_one',
    children: [
      childSpec(socketActor, desk, { name: names.socket }),
      dynamicSupervisorSpec({ name: 'relays' }, { name: names.relays }),
      {
        id: 'listener',
        shutdown: desk.settings.drainTimeout + 1_000,
        start: (ctx) => startListener(desk, ctx),
      },
    ],
  }
}

const socketActor = defineActor({
  name: 'socket',
  stray: 'report',
  async init(
    desk: ShareDesk,
    ctx: ActorContext,
  ): Promise<{ readonly binding: Binding; [describe](): string }> {
    const { settings } = desk
    const { name, path, readyTimeout } = settings
    const openTimeout = readyTimeout + 10_000
    const { bindShared } = await loadListener()
    const binding = await bindShared({ ...settings, openTimeout }, ctx, desk)
    const about = { ...originHere('shared'), server: name, url: path, port: undefined }
    emitTransport('listener', () => ({ ...about, type: 'listening' }))
    ctx.own(() => emitTransport('listener', () => ({ ...about, type: 'stopped' })))
    return { binding, [describe]: () => path }
  },
  call: {
    binding: ({ binding }): Binding => binding,
  },
})

async function startListener(desk: ShareDesk, ctx: ActorContext): Promise<ActorRef> {
  const { settings } = desk
  const { self: supervisor, registry } = ctx
  const names = namesOf(settings)
  const binding = await registry.named<typeof socketActor>(names.socket).call('binding')
  const relays = await registry.whenUp(names.relays)
  const { sharePort } = await loadPort()
  const started = await binding.start(ctx, sharePort(desk, relays, ctx.world), {
    name: names.listener,
    drainTimeout: settings.drainTimeout,
    stopping: () => (processOf(supervisor) as Actor).phase === 'stopping',
    finished: () => {},
  })
  return started as ActorRef
}

function namesOf({ name }: ShareSettings) {
  return {
    supervisor: `share ${name}`,
    socket: `socket of ${name}`,
    relays: `relays of ${name}`,
    listener: `listener of ${name}`,
  }
}

/** The transport's error rather than the failed start of a child. */
function causeOf(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof TransportError) return cause
  return error
}

import type { JsonObject } from '../../protocol/wire/json.js'
import type { Message } from '../../protocol/wire/jsonrpc.js'
import { latestHandshake } from '../../protocol/dialects/versions.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import type { Clock } from '../../runtime/time/clock.js'
import { readWorld, type World } from '../../runtime/time/world.js'
import type { WaitOptions } from '../../runtime/watch/recording.js'
import { Registry } from '../../runtime/process/registry.js'
import { startSupervisor, type Supervisor } from '../../runtime/supervision/supervise.js'
import type { ClientTransport, LinkEnd } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { linkActor, type LinkNews } from '../link/actor.js'
import { type Script, ScriptedPeer } from './peer.js'

/** Options of a scripted client. */
export interface ScriptedClientOptions {
  /** The clock of its tree and its transport. Default: that of this machine. */
  readonly clock?: Clock
}

/** The parameters of a scripted client's `initialize`. */
export interface ScriptedGreeting {
  /** Default: the latest revision with a handshake. */
  readonly protocolVersion?: string
  /** Default: those that the methods of the script need. */
  readonly capabilities?: JsonObject
  readonly clientInfo?: { readonly name: string; readonly version: string }
}

/**
 * A client for tests of servers: it sends what a test says, right or wrong, and answers as scripted. Resolves
 * once connected, with nothing sent. Never reconnects. Rejects with TransportError, also BAD_OPTION.
 */
export async function scriptedClient(
  transport: ClientTransport,
  script: Script<ScriptedClient> = {},
  { clock }: ScriptedClientOptions = {},
): Promise<ScriptedClient> {
  const world = readWorld(clock)
  const client = new ScriptedClient(script, world)
  await client.open(transport, world)
  return client
}

/** A client that sends what a test says. */
export class ScriptedClient extends ScriptedPeer implements AsyncDisposable {
  /** Resolves when the connection is over, with why. */
  readonly closed: Promise<LinkEnd>
  readonly #registry = new Registry()
  readonly #opened: Promise<void>
  #tree: Supervisor | undefined
  // Assigned by the executors in the constructor, which run at once.
  #tellOpened: () => void = () => {}
  #tellClosed: (end: LinkEnd) => void = () => {}

  constructor(script: Script<ScriptedClient>, world?: World) {
    super('the scripted client', script, world)
    this.#opened = new Promise((resolve) => {
      this.#tellOpened = resolve
    })
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve
    })
  }

  /** Opens its only connection; `scriptedClient` has done that. */
  async open(transport: ClientTransport, clock: Clock): Promise<void> {
    const tree = await startSupervisor({
      name: 'scripted client',
      strategy: 'one_for_all',
      intensity: 0,
      clock,
      registry: this.#registry,
      logger: false,
      children: [
        childSpec(this.#owner(), undefined, { name: 'owner' }),
        childSpec(linkActor, { transport, owner: 'owner' }, { name: 'link', shutdown: 8_000 }),
      ],
    })
    this.#tree = tree
    tree.onExit(() => this.#ended({}))
    this.#link().cast('open', { link })
    const end = await Promise.race([this.#opened, this.closed])
    if (end === undefined) return
    await this.close()
    throw end.error ?? new TransportError('CONNECT_FAILED', 'the connection was ended before it came about')
  }

  /** Sends `initialize`, then `notifications/initialized`. Resolves with the result; rejects as `request`. */
  async initialize(greeting: ScriptedGreeting = {}, options?: WaitOptions): Promise<JsonObject> {
    const {
      protocolVersion = latestHandshake.revision,
      capabilities = capabilitiesFor(this.methods),
      clientInfo = { name: 'scripted', version: '1.0.0' },
    } = greeting
    const params = { protocolVersion, capabilities, clientInfo }
    const result = await this.request('initialize', params, options)
    this.#link().cast('negotiated', { link, revision: String(result.protocolVersion) })
    this.notify('notifications/initialized')
    return result
  }

  /** Ends the connection and releases its resources. Never rejects; idempotent. */
  async close(): Promise<void> {
    const tree = this.#tree
    if (tree?.ref.alive === true) await tree.stop().catch(() => {})
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #owner() {
    return defineActor({
      name: 'owner',
      stray: 'report',
      init: () => ({}),
      cast: {
        attached: () => {},
        opened: () => {
          this.attach((text, message = noMessage) => void this.#link().cast('send', { link, text, message }))
          this.#tellOpened()
        },
        message: (_: object, { text }: LinkNews['message']) => this.take(text),
        lost: (_: object, { id, error }: LinkNews['lost']) => this.giveUp(id, error),
        trouble: () => {},
        closed: (_: object, { end }: LinkNews['closed']) => this.#ended(end),
      },
    })
  }

  #ended(end: LinkEnd): void {
    this.detach(end.error?.message ?? 'the connection was ended')
    this.#tellClosed(end)
  }

  #link() {
    return this.#registry.named<typeof linkActor>('link')
  }
}

/** The number of the only connection. */
const link = 1

/** Given to the transport in place of a text that is no message. */
const noMessage: Message = Object.freeze({ jsonrpc: '2.0', method: '' })

function capabilitiesFor(methods: readonly string[]): JsonObject {
  return {
    ...(methods.includes('roots/list') && { roots: { listChanged: true } }),
    ...(methods.includes('sampling/createMessage') && { sampling: {} }),
    ...(methods.includes('elicitation/create') && { elicitation: {} }),
  }
}

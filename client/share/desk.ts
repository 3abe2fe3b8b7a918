import type { RefOf } from '../../runtime/process/ref.js'
import type { Sink } from '../../transports/contract/contract.js'
import type { ShareDirectory } from '../../transports/shared/listener.js'
import type { SharedClient } from '../../transports/shared/hello.js'
import type { ClientParts } from '../requests/parts.js'
import { findParts } from '../handle/supervisor.js'
import { callError } from '../base/errors.js'
import type { Relay, relayActor } from './relay.js'
import type { ShareSettings, ShareSource } from './options.js'

/** One program that uses a shared client, as a snapshot. */
export interface SharePeer {
  /** The client that it uses. */
  readonly client: string
  /** What it calls itself. */
  readonly program: string
  /** Calls under way. */
  readonly calls: number
  /** Resources that it has subscribed to. */
  readonly subscriptions: number
}

export interface ShareSession {
  readonly ref: RefOf<typeof relayActor>
  /** Set once the program listens. */
  reader: Sink | undefined
}

/** Ms for `find`: the client may just be restarting. */
const findTimeout = 5_000

/** Outlives the listener: the shared clients, and the programs that use them. */
export class ShareDesk implements ShareDirectory {
  readonly settings: ShareSettings
  readonly sessions = new Map<string, ShareSession>()
  readonly relays = new Set<Relay>()
  readonly #source: ShareSource

  constructor(settings: ShareSettings, source: ShareSource) {
    this.settings = settings
    this.#source = source
  }

  names(): readonly string[] {
    const { names } = this.settings
    const all = this.#source.names()
    return names === undefined ? all : all.filter((name) => names.has(name))
  }

  list(): Promise<readonly SharedClient[]> {
    return Promise.all(this.names().map((name) => this.#look(name)))
  }

  peers(): readonly SharePeer[] {
    return [...this.relays].map((relay) => relay.snapshot())
  }

  /** Rejects as `findClient` does. */
  async find(name: string): Promise<ClientParts> {
    const registry = this.names().includes(name) ? this.#source.registryOf(name) : undefined
    if (registry !== undefined) return findParts(registry, name, findTimeout)
    throw callError('NOT_FOUND', `client ${name} is not shared`, { sent: false, retryable: false })
  }

  /** A client that cannot be asked is listed as failed. */
  async #look(name: string): Promise<SharedClient> {
    try {
      const { state, server } = (await this.find(name)).holdings
      const { phase } = state
      if (server === undefined) return { name, phase }
      const { info, revision } = server
      return { name, phase, server: { name: info.name, version: info.version, revision } }
    } catch {
      return { name, phase: 'failed' }
    }
  }
}

import { messageOf } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Principal } from '../../transports/contract/principal.js'
import type { Cluster, Inbox, News } from '../cluster/cluster.js'
import type { Envelope } from '../cluster/envelope.js'
import type { SessionRecord, SessionStore } from '../engine/session-store.js'
import type { HubRef } from './hub.js'
import type { KeptStreams } from './kept-streams.js'

/** The nodes of one program, as one of them sees them: all of it goes through the hub. */
export class NodeCluster implements Cluster {
  readonly node: string
  readonly sessions: SessionStore
  /** Without the hub the node ends. */
  readonly problem = undefined
  readonly streams: KeptStreams | undefined
  readonly secrets: readonly string[]
  readonly #hub: HubRef
  /** Nodes that have ended, while the hub may still be about to give back what was asked of them. */
  readonly #ended = new Set<string>()
  #inbox: Inbox | undefined
  /** While all nodes stop: the end of this one's connections is told, and waits for that of the others'. */
  #held: { readonly isOver: Turn; readonly isFree: Turn } | undefined

  constructor(node: string, hub: HubRef, secrets: readonly string[], streams?: KeptStreams) {
    this.node = node
    this.secrets = secrets
    this.streams = streams
    this.#hub = hub
    this.sessions = {
      load: (id) => hub.call('load', id) as Promise<SessionRecord | undefined>,
      save: (record) => hub.call('save', { node, record }),
      delete: (id) => hub.call('delete', id),
    }
  }

  /** Who hears of the others; undefined while the server starts again. */
  get inbox(): Inbox | undefined {
    return this.#inbox
  }

  async claim(id: string, peer: Peer | undefined): Promise<string> {
    const who = peer && { principal: nameOf(peer.principal), remoteAddress: peer.remoteAddress }
    try {
      return await this.#hub.call('claim', { node: this.node, id, who })
    } catch (error) {
      if (error instanceof TransportError) throw error
      const problem = `nobody can tell where the session runs: ${messageOf(error)}`
      throw new TransportError('SEND_FAILED', problem, { cause: error, retryable: true })
    }
  }

  release(id: string): void {
    // also by a session whose server has ended
    outside(() => this.#hub.cast('release', { node: this.node, id }))
  }

  send(to: string, envelope: Envelope): boolean {
    // whoever asks is told after it has asked
    if (envelope.type === 'ask' && this.#ended.has(to)) {
      const undelivered = { type: 'undelivered', id: envelope.id } as const
      void Promise.resolve().then(() => this.#inbox?.receive(to, undelivered))
      return true
    }
    return outside(() => this.#hub.cast('send', { from: this.node, to, envelope }))
  }

  /**
   * A node has ended. What was on its way to it then comes back `undelivered`, and is asked for elsewhere: it is
   * waited for before the rest counts as lost.
   */
  ended(node: string): void {
    this.#ended.add(node)
    outside(() => this.#hub.cast('knows', { from: this.node, ended: node }))
  }

  /** All that was on its way to a node that has ended has come back. */
  gone(node: string): void {
    this.#ended.delete(node)
    this.#inbox?.gone(node)
  }

  publish(news: News): void {
    this.#hub.cast('publish', { from: this.node, news })
  }

  /** The hub was told by the one who had the idea. */
  retire(): void {}

  /** This node is to wait for the others once its connections are over, until `letGo`: resolves then. */
  hold(): Promise<void> {
    this.#held ??= { isOver: newTurn(), isFree: newTurn() }
    return this.#held.isOver.promise
  }

  letGo(): void {
    this.#held?.isFree.come()
  }

  async drained(): Promise<void> {
    this.#held?.isOver.come()
    await this.#held?.isFree.promise
  }

  listen(inbox: Inbox): () => void {
    this.#inbox = inbox
    return () => {
      if (this.#inbox === inbox) this.#inbox = undefined
    }
  }
}

interface Turn {
  readonly promise: Promise<void>
  come(): void
}

function newTurn(): Turn {
  let come = (): void => {}
  const promise = new Promise<void>((resolve) => {
    come = resolve
  })
  return { promise, come: () => come() }
}

/** Without its claims, which may be of any kind. */
function nameOf(principal: Principal | undefined): Principal | undefined {
  return principal && { issuer: principal.issuer, subject: principal.subject }
}

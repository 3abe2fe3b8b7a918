import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { handled } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Supervisor } from '../../runtime/supervision/supervise.js'
import { callError } from '../base/errors.js'
import type { ShareDesk, SharePeer } from './desk.js'

/** Clients that other programs may use by their names, until it is closed. */
export class Share implements AsyncDisposable {
  /**
   * Resolves when it was closed, or has ended in a tree that it was embedded in; rejects with GAVE_UP when
   * its actors crashed too often to be restarted.
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
   * Takes no new connections, gives calls in flight `drainTimeout` ms, and ends all connections; the clients
   * go on. Never rejects, and may be called again. An embedded share is ended by its supervisor instead, which
   * would start it again.
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

import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import type { ExitReason } from '../../runtime/base/exit.js'
import { forever, type ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { Supervisor } from '../../runtime/supervision/supervise.js'
import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { Closings } from '../base/closings.js'
import type { ListKind } from '../context/changes.js'
import type { SessionInfo } from '../sessions/session-actor.js'
import type { DoorPlace } from './door.js'
import type { Change } from './node-ref.js'
import type { keeperActor } from './keeper.js'
import { processNames } from './names.js'

interface Parts {
  readonly name: string
  readonly registry: Registry
  readonly supervisor: Supervisor
  readonly place: DoorPlace
}

/** A running server that several processes serve. */
export class ServerProcesses {
  readonly #parts: Parts
  readonly #names: ReturnType<typeof processNames>
  readonly #closings = new Closings()

  constructor(parts: Parts) {
    bindMethods(this, methods)
    this.#parts = parts
    this.#names = processNames(parts.name)
  }

  get name(): string {
    return this.#parts.name
  }

  /** Where clients reach it. */
  get url(): string | undefined {
    return this.#parts.place.address?.url
  }

  get port(): number | undefined {
    return this.#parts.place.address?.port
  }

  /** The supervisor of the server, as a process: to monitor, link or kill it. */
  get ref(): ProcessRef {
    return this.#parts.supervisor.ref
  }

  /**
   * Starts the server's module anew, as it is on disk now: a new process is started, and once it serves, an
   * old one lets go of its sessions and connections, has `timeouts.drain` for requests in flight, and ends;
   * one after the other. Sessions go on in the processes that are left. SIGHUP does the same. A reload that
   * is asked for meanwhile ends the start that is under way, and begins then: both end with it. Rejects when
   * a new process cannot be started, with its error as cause: the old ones that are left go on.
   */
  reload(): Promise<void> {
    return this.#keeper.call('reload', undefined, forever)
  }

  /** The processes that serve, as actors: to monitor, or to kill one. */
  async processes(): Promise<ProcessRef[]> {
    return this.#keeper.call('nodes')
  }

  /** The sessions that run now, in all processes. */
  async sessions(): Promise<SessionInfo[]> {
    const nodes = await this.#keeper.call('nodes')
    const answers = await Promise.allSettled(nodes.map((node) => node.call('sessions', undefined)))
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }

  /** Tells all who subscribed to this uri of its change. Rejects with BAD_OPTION. */
  resourceUpdated(uri: string): Promise<void> {
    return this.#tell({ uri })
  }

  /** Tells of a change in a list that the author answers (`handleRequest`). Rejects with BAD_OPTION. */
  listChanged(list: ListKind): Promise<void> {
    return this.#tell({ list })
  }

  inspect(): TreeNode {
    return inspect(this.ref)
  }

  /**
   * Stops: takes no new connections, gives requests in flight `timeouts.drain`, ends the processes, and frees
   * the port. Resolves when nothing of it keeps Node alive, also after an earlier end, and once the listeners of
   * `onExit` are done.
   */
  stop(): Promise<void> {
    return this.#closings.stop(this.#parts.supervisor)
  }

  /**
   * Calls `fn` once when the server has ended: stopped, or after too many restarts. `stop()`, and the end of the
   * program by a signal, wait up to 10 s for the promise that it returns. Throws BAD_OPTION.
   */
  onExit(fn: (reason: ExitReason) => unknown): () => void {
    return this.#closings.onExit(this.#parts.supervisor, fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get #keeper() {
    return this.#parts.registry.named<typeof keeperActor>(this.#names.keeper)
  }

  /** One process tells the others. */
  async #tell(change: Change): Promise<void> {
    const [node] = await this.#keeper.call('nodes')
    await node?.call('changed', change)
  }
}

const methods = methodNames(ServerProcesses)

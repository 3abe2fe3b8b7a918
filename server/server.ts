import type { ExitReason } from '../runtime/exit.js'
import { inspect, type TreeNode } from '../runtime/inspect.js'
import type { ProcessRef, RefOf } from '../runtime/ref.js'
import type { Registry } from '../runtime/registry.js'
import { DynamicSupervisor } from '../runtime/dynamic-supervisor.js'
import type { Supervisor } from '../runtime/supervise.js'
import { show } from '../runtime/errors.js'
import type { baseActor } from './base-actor.js'
import { isTool, type ToolDefinition } from './define-tool.js'
import { ServerError } from './errors.js'
import type { Place } from './holdings-actor.js'
import type { ServerNames } from './names.js'
import type { SessionInfo, sessionActor } from './session-actor.js'

/** What a handle is made from. */
export interface ServerParts {
  readonly name: string
  readonly names: ServerNames
  readonly registry: Registry
  readonly supervisor: Supervisor
  readonly place: Place
}

/** A running server. It holds names, not processes: it stays good through every restart of the group. */
export class Server {
  readonly #parts: ServerParts

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  get name(): string {
    return this.#parts.name
  }

  /** Where clients reach it; undefined on standard input. */
  get url(): string | undefined {
    return this.#parts.place.binding?.url
  }

  get port(): number | undefined {
    return this.#parts.place.binding?.port
  }

  /** The supervisor of the server, as a process: to monitor, link or kill it. */
  get ref(): ProcessRef {
    return this.#parts.supervisor.ref
  }

  /** The names of its tree: `NAME/base`, `NAME/transport`, `NAME/tasks`, `NAME/sessions`, `NAME/group`, `NAME/session ID`. */
  get registry(): Registry {
    return this.#parts.registry
  }

  /** Adds a tool and tells the sessions; it stays through restarts. Rejects with ServerError BAD_DEFINITION. */
  async addTool(tool: ToolDefinition): Promise<void> {
    if (!isTool(tool))
      throw new ServerError('BAD_DEFINITION', `addTool: expected what defineTool returns, got ${show(tool)}`)
    await this.#base().call('addTool', tool)
  }

  /** Takes a tool away and tells the sessions; false when there is none of that name. Calls in flight go on. */
  removeTool(name: string): Promise<boolean> {
    return this.#base().call('removeTool', name)
  }

  /** The sessions that run now; one that has not been used since a restart of the group is not among them. */
  async sessions(): Promise<SessionInfo[]> {
    const supervisor = this.registry.whereis(this.#parts.names.sessions)
    if (supervisor === undefined) return []
    // a supervisor that ends at this moment has no sessions any more
    const children = await new DynamicSupervisor(supervisor).children().catch(() => [])
    const asked = children.flatMap(({ ref }) =>
      ref === undefined ? [] : [(ref as RefOf<typeof sessionActor>).call('info')],
    )
    const answers = await Promise.allSettled(asked)
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** What the tree looks like now. */
  inspect(): TreeNode {
    return inspect(this.#parts.supervisor.ref)
  }

  /**
   * Stops: takes no new requests, gives those in flight `drainTimeout`, ends the streams and the sessions, and frees the port.
   * Resolves when all of that is done, also when it had ended already.
   */
  async stop(): Promise<void> {
    const { supervisor } = this.#parts
    if (supervisor.ref.alive) await supervisor.stop()
  }

  /** Calls `fn` once when the server has ended: stopped, or given up after too many restarts. */
  onExit(fn: (reason: ExitReason) => void): () => void {
    return this.#parts.supervisor.onExit(fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #base() {
    return this.registry.named<typeof baseActor>(this.#parts.names.base)
  }
}

import { bindMethods, methodNames } from '../runtime/base/detached.js'
import type { ExitReason } from '../runtime/base/exit.js'
import { inspect, type TreeNode } from '../runtime/watch/inspect.js'
import type { ProcessRef } from '../runtime/process/ref.js'
import type { Registry } from '../runtime/process/registry.js'
import { type Supervisor, supervisorAt } from '../runtime/supervision/supervise.js'
import { show } from '../runtime/base/errors.js'
import { type baseActor, changesOf } from './subscriptions/base-actor.js'
import type { Component } from './catalog/catalog.js'
import type { Changes, ListKind } from './context/changes.js'
import { isPrompt, type PromptDefinition } from './definitions/define-prompt.js'
import {
  isResource,
  isResourceTemplate,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from './definitions/define-resource.js'
import { isTool, type ToolDefinition } from './definitions/define-tool.js'
import { Closings } from './base/closings.js'
import { ServerError } from './base/errors.js'
import type { ServerPlace } from './holdings/holdings-actor.js'
import type { ServerNames } from './base/names.js'
import type { SessionInfo } from './sessions/session-actor.js'
import { allSessions } from './sessions/sessions.js'

export interface ServerParts {
  readonly name: string
  readonly names: ServerNames
  readonly registry: Registry
  readonly supervisor: Supervisor
  readonly place: ServerPlace
}

/** A running server. The handle stays valid through every restart, also by a supervisor of yours. */
export class Server {
  readonly #parts: ServerParts
  readonly #closings = new Closings()

  constructor(parts: ServerParts) {
    bindMethods(this, methods)
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
    return this.#supervisor.ref
  }

  /** Holds `NAME/base`, `NAME/transport`, `NAME/tasks`, `NAME/sessions`, `NAME/group`, `NAME/session ID`. */
  get registry(): Registry {
    return this.#parts.registry
  }

  /**
   * Adds a tool, which stays through restarts, and tells the sessions. Rejects with BAD_DEFINITION, also on a node
   * of a cluster and in one of several processes: the others could not offer it.
   */
  addTool(tool: ToolDefinition): Promise<void> {
    return this.#add('addTool: expected what defineTool returns', isTool(tool), tool)
  }

  /**
   * Removes a tool and tells the sessions; false when there is none of that name. Calls in flight go on. Rejects
   * with BAD_DEFINITION where other nodes would go on to offer it.
   */
  removeTool(name: string): Promise<boolean> {
    return this.#base().call('remove', { kind: 'tool', key: name })
  }

  /** Adds a resource or a family of resources, like `addTool`. */
  addResource(resource: ResourceDefinition | ResourceTemplateDefinition): Promise<void> {
    const expected = 'addResource: expected what defineResource or defineResourceTemplate returns'
    return this.#add(expected, isResource(resource) || isResourceTemplate(resource), resource)
  }

  /** Takes away the resource of this uri, or the family of this URI template, like `removeTool`. */
  async removeResource(uri: string): Promise<boolean> {
    if (await this.#base().call('remove', { kind: 'resource', key: uri })) return true
    return this.#base().call('remove', { kind: 'resourceTemplate', key: uri })
  }

  /** Adds a prompt, like `addTool`. */
  addPrompt(prompt: PromptDefinition): Promise<void> {
    return this.#add('addPrompt: expected what definePrompt returns', isPrompt(prompt), prompt)
  }

  /** Takes a prompt away, like `removeTool`. */
  removePrompt(name: string): Promise<boolean> {
    return this.#base().call('remove', { kind: 'prompt', key: name })
  }

  /** Tells all who subscribed to this uri of its change. Rejects with BAD_OPTION. */
  resourceUpdated(uri: string): Promise<void> {
    return this.#changes.resourceUpdated(uri)
  }

  /** Tells of a change in a list that the author answers (`handleRequest`). Rejects with BAD_OPTION. */
  listChanged(list: ListKind): Promise<void> {
    return this.#changes.listChanged(list)
  }

  /**
   * The sessions that run now or hibernate, without those that no message has brought back since a restart of the
   * group.
   */
  async sessions(): Promise<SessionInfo[]> {
    return allSessions(this.registry, this.#parts.names)
  }

  inspect(): TreeNode {
    return inspect(this.#supervisor.ref)
  }

  /**
   * Stops: takes no new requests, gives those in flight `timeouts.drain`, ends streams and sessions, and frees
   * the port. Resolves when nothing of it keeps Node alive, also after an earlier end, and once the listeners of
   * `onExit` are done.
   */
  stop(): Promise<void> {
    return this.#closings.stop(this.#supervisor)
  }

  /**
   * Calls `fn` once when the server that runs now has ended: stopped, or after too many restarts. `stop()`, and
   * the end of the program by a signal, wait up to 10 s for the promise that it returns: what was opened once for
   * the program is closed here. One that awaits `stop()` waits for itself. Throws BAD_OPTION.
   */
  onExit(fn: (reason: ExitReason) => unknown): () => void {
    return this.#closings.onExit(this.#supervisor, fn)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** A supervisor of yours that starts the server again gives it another one. */
  get #supervisor(): Supervisor {
    const { place, supervisor } = this.#parts
    return place.supervisor === undefined ? supervisor : supervisorAt(place.supervisor)
  }

  /** A component that is added at run time has no key to take its name from. */
  async #add(expected: string, isKnown: boolean, component: Component): Promise<void> {
    if (!isKnown || component.name === undefined)
      throw new ServerError('BAD_DEFINITION', `${expected}, with a name, got ${show(component)}`)
    await this.#base().call('add', component)
  }

  get #changes(): Changes {
    return changesOf(this.registry, this.#parts.names.base)
  }

  #base() {
    return this.registry.named<typeof baseActor>(this.#parts.names.base)
  }
}

const methods = methodNames(Server)

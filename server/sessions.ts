import { nanoid } from 'nanoid'
import { errorCodes, McpError, toJsonRpcError } from '../protocol/errors.js'
import { buildError, buildResult, isRequest, type JsonRpcRequest, type Message } from '../protocol/jsonrpc.js'
import type { Params } from '../protocol/methods.js'
import { readParams } from '../protocol/params.js'
import type { InitializeResult } from '../protocol/types/lifecycle.js'
import { dialectOf, negotiate } from '../protocol/versions.js'
import { childSpec } from '../runtime/child-spec.js'
import type { ActorContext } from '../runtime/context.js'
import { DynamicSupervisor } from '../runtime/dynamic-supervisor.js'
import { RuntimeError } from '../runtime/errors.js'
import { type ExitReason, normal } from '../runtime/exit.js'
import type { RefOf } from '../runtime/ref.js'
import type { Registry } from '../runtime/registry.js'
import { TaskSupervisor } from '../runtime/task-supervisor.js'
import type { Outlet, Peer, Response, ServerPort } from '../transports/contract.js'
import { TransportError } from '../transports/errors.js'
import type { Holdings } from './holdings-actor.js'
import { serverCapabilities } from './router.js'
import { sessionActor } from './session-actor.js'
import type { SessionRecord, SessionStore } from './session-store.js'

type SessionRef = RefOf<typeof sessionActor>

/** Milliseconds a session has for its end, and a store for an answer. */
const shutdownTime = 1_000
const storeTime = 5_000

/**
 * Finds sessions by their ids, opens them, and brings back from the store those that died without having ended. One for each
 * incarnation of the group; it runs in the scope of whoever asks, so that a store that throws costs one request.
 */
export class Sessions implements ServerPort {
  readonly #holdings: Holdings
  readonly #registry: Registry
  readonly #supervisor: DynamicSupervisor
  readonly #tasks: TaskSupervisor
  readonly #now: () => number
  readonly #restoring = new Map<string, Promise<SessionRef>>()
  /** Sessions that are being deleted from the store. */
  readonly #ending = new Set<string>()

  /** Throws RuntimeError NOPROC when the group is not complete. */
  constructor(holdings: Holdings, ctx: ActorContext) {
    const { names } = holdings.settings
    const [sessions, tasks] = [ctx.registry.whereis(names.sessions), ctx.registry.whereis(names.tasks)]
    if (sessions === undefined || tasks === undefined)
      throw new RuntimeError('NOPROC', 'sessions need the supervisors of their group')
    this.#holdings = holdings
    this.#registry = ctx.registry
    this.#now = ctx.clock.now
    this.#supervisor = new DynamicSupervisor(sessions)
    this.#tasks = new TaskSupervisor(tasks, Number.POSITIVE_INFINITY)
  }

  async open(
    request: JsonRpcRequest,
    _peer: Peer,
  ): Promise<{ sessionId: string | undefined; response: Response }> {
    let params: Params<'initialize'>
    try {
      params = readParams('initialize', request.params)
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      return { sessionId: undefined, response: buildError(request.id, toJsonRpcError(error)) }
    }
    const { catalog, settings } = this.#holdings
    const { revision } = negotiate(params.protocolVersion)
    const { clientInfo: client, capabilities } = params
    const id = nanoid()
    const record = { id, version: 0, revision, client, capabilities, catalog: catalog.version, state: {} }
    const session = await this.#start(record, false)
    try {
      await this.#keep((store) => store.save(record))
    } catch (error) {
      session.kill() // nobody knows of it
      throw error
    }
    const { info, instructions } = settings.definition
    const result: InitializeResult = {
      protocolVersion: revision,
      capabilities: serverCapabilities,
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    }
    return { sessionId: id, response: buildResult(request.id, result) }
  }

  async deliver(
    sessionId: string,
    message: Message,
    outlet: Outlet,
    peer: Peer,
  ): Promise<Response | undefined> {
    const delivery = { message, outlet, peer }
    try {
      return await this.#ask(sessionId, (session) => session.call('deliver', delivery, forever))
    } catch (error) {
      const isLost = error instanceof RuntimeError && isRequest(message)
      if (!isLost) throw error
      const why = {
        code: errorCodes.internalError,
        message: 'The session was interrupted: try once more',
        data: { retryable: true },
      }
      return buildError(message.id, why)
    }
  }

  async attach(sessionId: string, outlet: Outlet): Promise<() => void> {
    const session = await this.#ask(sessionId, async (found) => {
      await found.call('attach', outlet)
      return found
    })
    return () => void session.cast('detach', outlet)
  }

  async close(sessionId: string): Promise<void> {
    const session = this.#find(sessionId)
    if (session === undefined) await this.#load(sessionId)
    else if (session.alive) await session.stop(normal)
    await this.#forget(sessionId)
  }

  /** A session that ends at this very moment is brought back, and asked once more. */
  async #ask<Answer>(id: string, ask: (session: SessionRef) => Promise<Answer>): Promise<Answer> {
    try {
      return await ask(this.#find(id) ?? (await this.#restore(id)))
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
      return ask(this.#find(id) ?? (await this.#restore(id)))
    }
  }

  #find(id: string): SessionRef | undefined {
    return this.#registry.whereis(this.#holdings.settings.names.session(id)) as SessionRef | undefined
  }

  /** Several messages may find a session missing at once: it is brought back once. */
  #restore(id: string): Promise<SessionRef> {
    const known = this.#restoring.get(id)
    if (known !== undefined) return known
    const restoring = this.#load(id)
      .then((record) => this.#start(record, true))
      .finally(() => this.#restoring.delete(id))
    this.#restoring.set(id, restoring)
    return restoring
  }

  async #load(id: string): Promise<SessionRecord> {
    const record = this.#ending.has(id) ? undefined : await this.#keep((store) => store.load(id))
    if (record === undefined || this.#ending.has(id))
      throw new TransportError('SESSION_NOT_FOUND', 'there is no such session')
    return record
  }

  async #start(record: SessionRecord, restored: boolean): Promise<SessionRef> {
    const { names, maxSessions } = this.#holdings.settings
    const dialect = dialectOf(record.revision)
    if (dialect === undefined)
      throw new TransportError('SESSION_NOT_FOUND', 'the session speaks a revision that is not served')
    const input = { record, restored, dialect, holdings: this.#holdings }
    const how = {
      id: record.id,
      name: names.session(record.id),
      restart: 'temporary',
      shutdown: shutdownTime,
    } as const
    try {
      const { ref } = await this.#supervisor.startChild(childSpec(sessionActor, input, how))
      const session = ref as SessionRef
      session.onExit((reason) => this.#ended(record.id, reason))
      return session
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === 'MAX_CHILDREN')) throw error
      throw new TransportError('SESSION_LIMIT', `the server has ${maxSessions} sessions already`, {
        cause: error,
        retryable: true,
      })
    }
  }

  /** An end of its own choice is for good, and so is one crash too many; after anything else the session may come back. */
  #ended(id: string, reason: ExitReason): void {
    if (reason.type === 'shutdown' || !this.#supervisor.ref.alive) return
    if (reason.type !== 'normal' && this.#holdings.restores.add(id, this.#now())) return
    this.#forget(id).catch(() => {})
  }

  async #forget(id: string): Promise<void> {
    this.#holdings.restores.forget(id)
    this.#ending.add(id)
    try {
      await this.#keep((store) => store.delete(id))
    } finally {
      this.#ending.delete(id)
    }
  }

  /** Asks the store, in a task: it may be an author's, and throw, stray, or never answer. */
  #keep<Answer>(ask: (store: SessionStore) => Answer | Promise<Answer>): Promise<Answer> {
    const { store } = this.#holdings
    return this.#tasks.start<Answer>(async () => ask(store), { name: 'session store', timeout: storeTime })
      .result
  }
}

const forever = Object.freeze({ timeout: Number.POSITIVE_INFINITY })

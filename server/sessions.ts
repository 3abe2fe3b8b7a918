import { nanoid } from 'nanoid'
import { openBatch } from '../protocol/batch.js'
import type { Batch } from '../protocol/codec.js'
import { errorCodes, McpError, toJsonRpcError } from '../protocol/errors.js'
import { fitError, fitResult } from '../protocol/fit.js'
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
import type { hooksActor } from './hooks-actor.js'
import { sessionActor } from './session-actor.js'
import { type Known, SessionRecords } from './session-records.js'

type SessionRef = RefOf<typeof sessionActor>

/** Milliseconds a session has for its end. */
const shutdownTime = 1_000

/**
 * Finds sessions by their ids, opens them, and brings back from the store those that died without having ended. One for each
 * incarnation of the group; it runs in the scope of whoever asks, so that a store that throws costs one request.
 */
export class Sessions implements ServerPort {
  readonly #holdings: Holdings
  readonly #registry: Registry
  readonly #supervisor: DynamicSupervisor
  readonly #records: SessionRecords
  readonly #now: () => number
  readonly #restoring = new Map<string, Promise<SessionRef>>()

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
    this.#records = new SessionRecords(holdings, new TaskSupervisor(tasks, Number.POSITIVE_INFINITY))
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
    const dialect = negotiate(params.protocolVersion)
    const { revision } = dialect
    const { clientInfo: client, capabilities } = params
    const known = this.#records.issue({ revision, client, capabilities }, nanoid)
    const session = await this.#start(known, false)
    try {
      const hasBegun = await this.#begin(session, known, false)
      await this.#records.save(hasBegun ? await session.call('record') : known.record)
    } catch (error) {
      session.kill() // nobody knows of it
      if (!(error instanceof McpError)) throw error
      const why = fitError(dialect, toJsonRpcError(error))
      return { sessionId: undefined, response: buildError(request.id, why) }
    }
    const { info, instructions } = this.#holdings.settings.definition
    const result: InitializeResult = {
      protocolVersion: revision,
      capabilities: this.#holdings.catalog.capabilities,
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    }
    return {
      sessionId: known.record.id,
      response: buildResult(request.id, fitResult(dialect, 'initialize', result)),
    }
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
      if (error instanceof McpError && isRequest(message))
        return buildError(message.id, toJsonRpcError(error))
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

  async deliverBatch(
    sessionId: string,
    batch: Batch,
    outlet: Outlet,
    peer: Peer,
  ): Promise<readonly Response[]> {
    const revision = await this.#ask(sessionId, (session) => session.call('revision'))
    const { messages, refusals } = openBatch(batch, dialectOf(revision))
    const answers = await Promise.all(
      messages.map((message) => this.deliver(sessionId, message, outlet, peer)),
    )
    return [...answers.filter((answer) => answer !== undefined), ...refusals]
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
    if (session === undefined || this.#records.areShared) await this.#current(sessionId, session)
    if (session?.alive) await session.stop(normal)
    await this.#end(sessionId)
  }

  /** A session that ends at this very moment is brought back, and asked once more. */
  async #ask<Answer>(id: string, ask: (session: SessionRef) => Promise<Answer>): Promise<Answer> {
    try {
      return await ask(await this.#session(id))
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === 'NOPROC')) throw error
      return ask(await this.#session(id))
    }
  }

  async #session(id: string): Promise<SessionRef> {
    const session = this.#restoring.has(id) ? undefined : this.#find(id)
    if (session === undefined) return this.#restore(id)
    if (this.#records.areShared) await session.call('adopt', (await this.#current(id, session)).record)
    return session
  }

  /** What is known of a session now, here and elsewhere: one that was ended elsewhere ends here, too. */
  async #current(id: string, session: SessionRef | undefined): Promise<Known> {
    try {
      return await this.#records.load(id)
    } catch (error) {
      const isOver = error instanceof TransportError && error.code === 'SESSION_NOT_FOUND'
      if (isOver && session?.alive) await session.stop(normal)
      throw error
    }
  }

  #find(id: string): SessionRef | undefined {
    return this.#registry.whereis(this.#holdings.settings.names.session(id)) as SessionRef | undefined
  }

  /** Several messages may find a session missing at once: it is brought back once. */
  #restore(id: string): Promise<SessionRef> {
    const known = this.#restoring.get(id)
    if (known !== undefined) return known
    const restoring = this.#bringBack(id).finally(() => this.#restoring.delete(id))
    this.#restoring.set(id, restoring)
    return restoring
  }

  async #bringBack(id: string): Promise<SessionRef> {
    const known = await this.#records.load(id)
    const session = await this.#start(known, true)
    try {
      await this.#begin(session, known, true)
    } catch (error) {
      session.kill() // it has no resources
      throw error
    }
    return session
  }

  /** Runs the author's `init`, if there are hooks; answers whether there are. */
  async #begin(session: SessionRef, { record }: Known, restored: boolean): Promise<boolean> {
    const { definition, names } = this.#holdings.settings
    if (definition.session === undefined) return false
    const { id, client, revision, capabilities } = record
    const facts = Object.freeze({ id, client, revision, capabilities })
    const hooks = this.#registry.named<typeof hooksActor>(names.hooks)
    await hooks.call('begin', { session, facts, restored }, forever)
    return true
  }

  async #start({ record, expiresAt }: Known, restored: boolean): Promise<SessionRef> {
    const { names, maxSessions, sessionIds } = this.#holdings.settings
    const lifetime = Math.max(0, (expiresAt ?? Number.POSITIVE_INFINITY) - (sessionIds?.now() ?? 0))
    const dialect = dialectOf(record.revision)
    if (dialect === undefined)
      throw new TransportError('SESSION_NOT_FOUND', 'the session speaks a revision that is not served')
    const input = { record, restored, lifetime, dialect, holdings: this.#holdings }
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

  /**
   * An end of its own choice is for good, and so is one crash too many; after anything else the session may come back. So it may when
   * its id is sealed and it was not used here: another program may have gone on with it.
   */
  #ended(id: string, reason: ExitReason): void {
    if (reason.type === 'shutdown' || !this.#supervisor.ref.alive) return
    if (reason.type !== 'normal' && this.#holdings.restores.add(id, this.#now())) return
    if (reason.type === 'normal' && this.#mayGoOnElsewhere) return this.#holdings.restores.forget(id)
    this.#end(id).catch(() => {})
  }

  get #mayGoOnElsewhere(): boolean {
    return this.#records.areShared || this.#holdings.settings.sessionIds !== undefined
  }

  async #end(id: string): Promise<void> {
    this.#holdings.restores.forget(id)
    await this.#records.end(id)
  }
}

const forever = Object.freeze({ timeout: Number.POSITIVE_INFINITY })

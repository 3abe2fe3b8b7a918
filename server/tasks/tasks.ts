import type { Dialect } from '../../protocol/dialects/dialect.js'
import { hasCapability } from '../../protocol/dialects/capabilities.js'
import { metaKeys } from '../../protocol/stateless/envelope.js'
import { errorCodes, McpError, unknownMethod } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { readParams } from '../../protocol/messages/params.js'
import { readTaskId, relatedTask, type Task, tasksExtension } from '../../protocol/messages/tasks.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import { pause } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { isThisMachine, networkOf } from '../../transports/base/network.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { Principal } from '../../transports/contract/principal.js'
import { AskError } from '../base/errors.js'
import type { ToldCrash } from '../base/exposed-error.js'
import { ownerOf } from '../base/owner.js'
import type { Cursors } from '../catalog/cursors.js'
import { checkAllowed } from '../context/scopes.js'
import { ToolContext } from '../context/context.js'
import type { RequestScope } from '../context/context.js'
import { checkUsable, hasTasks } from '../definitions/session-needs.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { TaskSettings } from '../holdings/task-options.js'
import { prepareTool, toolCrash } from '../requests/handlers/tools.js'
import { unknown } from '../requests/handlers/unknown.js'
import { noAnswerIn, type RouteScope, type TaskRoutes, type Work } from '../requests/work.js'
import type { SharedTaskStore, TaskCommand } from '../engine/shared-task-store.js'
import type { TaskQuestion, TaskRecord, TaskStore } from '../engine/task-store.js'
import { type McpTaskRef, runOn } from './actor.js'
import type { TaskNews, Tell } from './mcp-task.js'
import type { TaskLookup, ledgerActor, ListedTasks } from './ledger.js'
import { askTaskStore } from './mcp-task.js'
import { hasNews, toDetailedTask, toExtensionTask, toTask } from './views.js'

/** The methods of 2025-11-25, and those of the extension for 2026-07-28. */
const inSessions = ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel'] as const
const byExtension = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const
/** Milliseconds that a request about tasks may take that waits for no task. */
const quick = 30_000
/**
 * Random bytes in an id. It has to be unguessable: the id of an anonymous client's task is all that protects
 * it.
 */
const idBytes = 24
/** Characters of an id that is looked up. */
const maxId = 200
const pageSize = 100
/** How often a task is looked up whose actor has died and restarts, and ms between. */
const tries = Object.freeze({ most: 20, pause: 50 })
/** The same after the death of its node: the lease of that has to end. */
const triesOfNodes = Object.freeze({ most: 40, pause: 250 })
/** Milliseconds until a change that could not be read is looked for again. */
const readAgain = 1_000
/** Tasks that one stream hears of. */
const maxListened = 100

/** The requests about tasks, and the calls that become one. */
export class McpTasks implements TaskRoutes {
  readonly #holdings: Holdings
  readonly #settings: TaskSettings
  readonly #store: TaskStore
  /** The store, where several nodes have one. */
  readonly #shared: SharedTaskStore | undefined
  readonly #registry: Registry
  readonly #world: World
  readonly #tellStatus: Tell | undefined

  /** `tell` says something to the client of a session. */
  constructor(given: {
    readonly holdings: Holdings
    readonly settings: TaskSettings
    readonly store: TaskStore
    readonly registry: Registry
    readonly world: World
    readonly tell: Tell | undefined
  }) {
    this.#holdings = given.holdings
    this.#settings = given.settings
    this.#store = given.store
    this.#shared = given.holdings.settings.cluster?.tasks
    this.#registry = given.registry
    this.#world = given.world
    this.#tellStatus = given.tell
  }

  plan(request: JsonRpcRequest, scope: RouteScope): Work | undefined {
    const { method, params } = request
    const { dialect } = scope
    if (method === 'tools/call') return this.#planCall(params ?? {}, scope)
    if (!hasTasks(dialect)) return undefined
    const known: readonly string[] = dialect.handshake ? inSessions : byExtension
    if (!known.includes(method)) return undefined
    if (!dialect.handshake && !declaresTasks(params)) throw needsTasks(method)
    switch (method as (typeof inSessions)[number] | (typeof byExtension)[number]) {
      case 'tasks/get':
        return this.#planGet(method, params, scope)
      case 'tasks/result':
        return this.#planResult(method, params)
      case 'tasks/list':
        return this.#planList(method, params, scope)
      case 'tasks/cancel':
        return this.#planCancel(method, params, scope)
      case 'tasks/update':
        return this.#planUpdate(method, params, scope)
    }
  }

  /** The server is stopping: requests stop waiting for tasks that continue later. */
  release(): void {
    const ledger = this.#registry.whereis(this.#holdings.settings.names.ledger)
    ;(ledger as RefOf<typeof ledgerActor> | undefined)?.cast('release')
    if (this.#shared?.isLeaving === true) this.#shared.sendAway()
  }

  /**
   * The tasks that a stream of `subscriptions/listen` may hear of: those of its client, up to 100. Throws
   * -32021 where the client names tasks and has not declared that it can have any.
   */
  async listened(request: JsonRpcRequest, peer: Peer, ids: readonly string[] = []): Promise<TaskRecord[]> {
    if (ids.length === 0) return []
    if (!declaresTasks(request.params)) throw needsTasks(request.method)
    const wanted = [...new Set(ids)].slice(0, maxListened)
    const found = await Promise.all(wanted.map((id) => this.#load(id, peer).catch(() => undefined)))
    return found.filter((record) => record !== undefined)
  }

  /** Tells what becomes of tasks on other nodes, until `signal` aborts. */
  follow(records: readonly TaskRecord[], tell: (record: TaskRecord) => void, signal: AbortSignal): void {
    const shared = this.#shared
    if (shared !== undefined) for (const record of records) void this.#follow(shared, record, tell, signal)
  }

  async #follow(
    shared: SharedTaskStore,
    first: TaskRecord,
    tell: (record: TaskRecord) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (let known = first; known.end === undefined; ) {
      await shared.changed(known.id, known.version, signal)
      if (signal.aborted || shared.isLeaving) return
      try {
        const record = await shared.load(known.id)
        if (record === undefined) return
        if (hasNews(known, record)) tell(record)
        known = record
      } catch {
        await pause(readAgain, this.#world, signal)
      }
    }
  }

  /** Undefined for a call that runs as any other. */
  #planCall(params: JsonObject, scope: RouteScope): Work | undefined {
    const { catalog, dialect, peer } = scope
    const tool = typeof params.name === 'string' ? catalog.tools.get(params.name) : undefined
    if (tool === undefined || !hasTasks(dialect)) return undefined
    const isWanted = dialect.handshake ? isObject(params.task) : declaresTasks(params)
    if (tool.task === 'forbidden') {
      if (!isWanted || !dialect.handshake) return undefined
      throw McpError.methodNotFound(`tool ${tool.name} does not run as a task`)
    }
    if (!isWanted && tool.task === 'optional') return undefined
    const given = readParams('tools/call', params)
    checkAllowed(peer, tool, () => unknown('tool', tool.name, catalog.tools, peer))
    checkUsable(dialect, tool, `tool ${tool.name}`)
    if (!isWanted) {
      if (dialect.handshake)
        throw McpError.methodNotFound(`tool ${tool.name} runs as a task only: call it with task: {}`)
      throw needsTasks(`tool ${tool.name}`)
    }
    const ttl = this.#ttlOf(dialect.handshake ? given.task?.ttl : undefined)
    let isPreparing = tool.prepare !== undefined
    const create = async (ctx: ToolContext): Promise<object> => {
      const { pollInterval } = this.#settings
      if (dialect.handshake)
        return { task: toTask(await this.#create(ctx, params, ttl), dialect, pollInterval) }
      const result = await prepareTool(tool, given.arguments ?? {}, ctx)
      if (result !== undefined) return result
      isPreparing = false
      const record = await this.#create(ctx, params, ttl)
      return { resultType: 'task', ...toExtensionTask(record, dialect, pollInterval) }
    }
    const work = this.#work(`tools/call ${tool.name}`, scope, create)
    if (tool.prepare === undefined) return work
    // what fails later is the server's own: it could not make a task
    const crashed = (told: ToldCrash): object | undefined =>
      isPreparing ? catalog.stamp(dialect, toolCrash(told)) : undefined
    return { ...work, timeout: tool.timeout, crashed }
  }

  #planGet(method: string, params: JsonObject | undefined, scope: RouteScope): Work {
    const id = readTaskId(method, params)
    return this.#work(method, scope, async ({ peer }) =>
      this.#tell(await this.#load(id, peer), scope.dialect),
    )
  }

  #planCancel(method: string, params: JsonObject | undefined, scope: RouteScope): Work {
    const id = readTaskId(method, params)
    const { dialect } = scope
    return this.#work(method, scope, async ({ peer }) => {
      const before = await this.#load(id, peer)
      if (before.end !== undefined) {
        if (!dialect.handshake) return {}
        throw McpError.invalidParams(
          `The task has ended already (${before.end.type === 'cancelled' ? 'cancelled' : 'with an outcome'})`,
        )
      }
      const record = await this.#run(id, peer, { do: 'cancel' })
      if (!dialect.handshake) return {}
      if (record.end?.type === 'cancelled') return this.#tell(record, dialect)
      throw McpError.invalidParams('The task has ended already (with an outcome)')
    })
  }

  #planUpdate(method: string, params: JsonObject | undefined, scope: RouteScope): Work {
    const id = readTaskId(method, params)
    const responses = params?.inputResponses
    if (!isObject(responses))
      throw McpError.invalidParams(`${method}: params.inputResponses: expected an object`)
    return this.#work(method, scope, async ({ peer }) => {
      await this.#load(id, peer)
      await this.#run(id, peer, { do: 'answer', responses })
      return {}
    })
  }

  #planList(method: string, params: JsonObject | undefined, scope: RouteScope): Work {
    const { dialect, peer } = scope
    const owner = ownerOf(peer)
    // clients that cannot be told apart must not see each other's tasks
    if (owner === undefined && peer.trusted !== true) throw unknownMethod(method)
    const cursor = params?.cursor
    if (cursor !== undefined && typeof cursor !== 'string')
      throw McpError.invalidParams(`${method}: params.cursor: expected a string`)
    return this.#work(method, scope, async () => {
      const { cursors } = this.#holdings.catalog
      const list = `${method} ${owner ?? ''}`
      const { found, next } =
        this.#shared === undefined || owner === undefined
          ? await this.#pageHere(owner, list, cursor)
          : await this.#pageOfAll(this.#shared, owner, list, cursor)
      const tasks: Task[] = []
      // one after the other: a record may be large, and little of it is in the answer
      for (const { id } of found) {
        const record = await this.#load(id, peer).catch(() => undefined)
        if (record !== undefined) tasks.push(toTask(record, dialect, this.#settings.pollInterval))
      }
      if (next === undefined) return { tasks }
      return { tasks, nextCursor: cursors.write(list, { place: next.place, key: next.id }) }
    })
  }

  #pageHere(owner: string | undefined, list: string, cursor: string | undefined): Promise<ListedTasks> {
    const after = cursor === undefined ? 0 : this.#placeOf(this.#holdings.catalog.cursors, list, cursor)
    return this.#ledger().call('list', { owner, after, size: pageSize })
  }

  /** The tasks of all nodes. */
  async #pageOfAll(
    shared: SharedTaskStore,
    owner: string,
    list: string,
    cursor: string | undefined,
  ): Promise<ListedTasks> {
    const last = cursor === undefined ? undefined : this.#holdings.catalog.cursors.read(list, cursor)
    if (last !== undefined && last.place === undefined) throw endedProgram()
    const after = last?.place === undefined ? undefined : { id: last.key, place: last.place }
    const page = await orStartingAgain(shared.page(owner, after, pageSize + 1))
    const found = page.slice(0, pageSize)
    return { found, next: page.length > pageSize ? found.at(-1) : undefined }
  }

  /** Waits for the end, and asks the client meanwhile what the task asks. */
  #planResult(method: string, params: JsonObject | undefined): Work {
    const id = readTaskId(method, params)
    return {
      name: method,
      timeout: this.#settings.maxTtl,
      waits: true,
      run: async (ctx) => {
        const record = await this.#await(id, ctx)
        const { end } = record
        if (end?.type === 'error')
          throw new McpError(end.error.code, end.error.message, { data: end.error.data })
        if (end?.type !== 'result') throw McpError.invalidParams('The task was cancelled')
        const { _meta } = end.result
        return { ...end.result, _meta: { ...(isObject(_meta) && _meta), [relatedTask]: { taskId: id } } }
      },
      timedOut: (ms) => noAnswerIn(ms, method),
    }
  }

  async #await(id: string, ctx: ToolContext): Promise<TaskRecord> {
    const scope = ToolContext.scopeOf(ctx)
    const known: string[] = []
    await this.#load(id, ctx.peer)
    const next = (task: McpTaskRef) => task.call('watch', { scope, known: [...known] }, forever)
    const nextElsewhere = async (shared: SharedTaskStore, record: TaskRecord): Promise<TaskNews> => {
      const questions = record.asked.filter((question) => !known.includes(question.id))
      if (questions.length > 0) return { type: 'asked', questions }
      await shared.changed(id, record.version, ctx.signal)
      return { type: ctx.signal.aborted || shared.isLeaving ? 'left' : 'moved' }
    }
    const ended = (record: TaskRecord): TaskNews => ({ type: 'ended', record })
    for (;;) {
      const news = await this.#ask(id, ctx.peer, { here: next, elsewhere: nextElsewhere, ended })
      if (news.type === 'moved') continue
      if (news.type === 'ended') return news.record
      if (news.type === 'gone') throw unknownTask()
      if (news.type === 'left') throw startingAgain()
      for (const question of news.questions) {
        known.push(question.id)
        void this.#deliver(id, question, scope)
      }
    }
  }

  /** Asks the client over the stream of a request. What it cannot be asked there stays open. */
  async #deliver(id: string, { id: key, method, params }: TaskQuestion, scope: RequestScope): Promise<void> {
    const { peer } = scope
    const _meta = {
      ...('_meta' in params && isObject(params._meta) && params._meta),
      [relatedTask]: { taskId: id },
    }
    try {
      const timeout = this.#settings.maxTtl
      const result = await scope.ask(key, method, { ...params, _meta } as never, { timeout })
      await this.#run(id, peer, { do: 'answer', responses: { [key]: result } as JsonObject })
    } catch (error) {
      const isRefused =
        error instanceof AskError && (error.code === 'ASK_REFUSED' || error.code === 'BAD_ANSWER')
      if (!isRefused) return
      const { code, message } = error
      const question = { id: key, code: code as never, message }
      await this.#run(id, peer, { do: 'refuse', question }).catch(() => {})
    }
  }

  async #create(ctx: ToolContext, params: JsonObject, ttl: number): Promise<TaskRecord> {
    const { session, peer } = ctx
    const { task: _, inputResponses: __, requestState: ___, ...given } = params
    const carried = ToolContext.scopeOf(ctx).carried?.()
    const now = this.#world.date()
    const owner = ownerOf(peer)
    const record: TaskRecord = {
      id: this.#world.randomBytes(idBytes).toString('base64url'),
      version: 0,
      ...(owner !== undefined && { owner }),
      ...(peer.principal !== undefined && {
        principal: JSON.parse(JSON.stringify(peer.principal)) as Principal,
      }),
      transport: peer.transport,
      ...(peer.trusted === true && { trusted: true as const }),
      revision: session.revision,
      client: session.client,
      capabilities: session.capabilities,
      params: given,
      createdAt: now,
      updatedAt: now,
      ttl,
      begun: 1,
      steps: [...(carried?.steps ?? [])].map(([key, text]) => [key, text ?? null]),
      answers: [...(carried?.answers ?? [])],
      asked: [],
    }
    const client = owner ?? networkIfFar(peer)
    const tell = this.#tellStatus
    const creating = {
      record,
      peer,
      ...(client !== undefined && { client }),
      ...(tell !== undefined && { tell }),
    }
    if (this.#shared?.isServing === false) throw startingAgain()
    const ledger = this.#ledger()
    const made = outside(() => ledger.call('create', creating, { timeout: quick }))
    // whoever has given the call up hears of no task, and could not end it
    const cancelUnheard = ({ id }: TaskRecord): void => {
      if (ctx.signal.aborted) void outside(() => this.#run(id, peer, { do: 'cancel' }).catch(() => {}))
    }
    void made.then(cancelUnheard, () => {})
    return orStartingAgain(made)
  }

  /** The record of a task, for its owner. Rejects with McpError -32602 for any other. */
  async #load(id: string, peer: Peer): Promise<TaskRecord> {
    const record = await this.#ask(id, peer, {
      here: (task) => task.call('get', undefined, forever),
      elsewhere: async (_shared, found) => found,
      ended: (found) => found,
    })
    this.#checkScopes(record, peer)
    return record
  }

  /** Has the task do what its client wants, wherever it is at work; answers its record afterwards. */
  #run(id: string, peer: Peer, command: TaskCommand): Promise<TaskRecord> {
    return this.#ask(id, peer, {
      here: async (task) => {
        await runOn(task, command)
        return this.#load(id, peer)
      },
      elsewhere: async (shared) => ((await shared.send(id, command)) ? this.#load(id, peer) : undefined),
      ended: (record) => record,
    })
  }

  /**
   * Asks the actor of a task that is at work here; of another one its record, and what to do where it is at work
   * elsewhere. Rejects with McpError -32602 if it is unknown.
   */
  async #ask<Answer extends object>(id: string, peer: Peer, ways: Ways<Answer>): Promise<Answer> {
    // a database may refuse U+0000, which no id has
    if (id.length > maxId || id.includes('\0')) throw unknownTask()
    const owner = ownerOf(peer)
    const shared = this.#shared
    const { most, pause: ms } = shared === undefined ? tries : triesOfNodes
    for (let count = 0; count < most; count += 1) {
      // other nodes may know better
      if (shared?.isServing === false) throw startingAgain()
      const found: TaskLookup = await this.#ledger().call('find', { id, owner })
      if (found.type === 'unknown' && shared === undefined) throw unknownTask()
      try {
        if (found.type === 'live') return await ways.here(found.ref)
      } catch (error) {
        if (!(error instanceof RuntimeError)) throw error
        continue // it has ended meanwhile, or its actor has died
      }
      const record = await orStartingAgain(askTaskStore(this.#world, () => this.#store.load(id)))
      if (record === undefined || record.owner !== owner) throw unknownTask()
      if (record.end !== undefined) return ways.ended(record)
      if (found.type === 'unknown' && shared !== undefined) {
        const answer = await orStartingAgain(ways.elsewhere(shared, record))
        if (answer !== undefined) return answer
      }
      await pause(ms, this.#world) // it is about to go on
    }
    throw startingAgain()
  }

  /** The result of a tool with scopes needs the same scopes. Throws McpError 403. */
  #checkScopes({ params }: TaskRecord, peer: Peer): void {
    const tool = this.#holdings.catalog.tools.get(String(params.name))
    if (tool !== undefined) checkAllowed(peer, tool, unknownTask)
  }

  #tell(record: TaskRecord, dialect: Dialect): object {
    const { pollInterval } = this.#settings
    if (dialect.handshake) return toTask(record, dialect, pollInterval)
    return toDetailedTask(record, dialect, pollInterval)
  }

  #work(name: string, { dialect, catalog }: RouteScope, run: (ctx: ToolContext) => Promise<object>): Work {
    return {
      name,
      timeout: quick,
      run: async (ctx) => catalog.stamp(dialect, await run(ctx)),
      timedOut: (ms) => noAnswerIn(ms, name),
    }
  }

  #ttlOf(wanted: unknown): number {
    const { ttl, maxTtl } = this.#settings
    if (typeof wanted !== 'number' || !Number.isFinite(wanted) || wanted <= 0) return ttl
    return Math.min(Math.ceil(wanted), maxTtl)
  }

  #placeOf(cursors: Cursors, list: string, cursor: string): number {
    const { place, isOurs } = cursors.read(list, cursor)
    if (!isOurs || place === undefined) throw endedProgram()
    return place
  }

  #ledger(): RefOf<typeof ledgerActor> {
    const ledger = this.#registry.whereis(this.#holdings.settings.names.ledger)
    if (ledger === undefined) throw startingAgain()
    return ledger as RefOf<typeof ledgerActor>
  }
}

/** What is asked, by where a task is. */
interface Ways<Answer> {
  here(task: McpTaskRef): Promise<Answer>
  /** At work on another node, or on none; undefined: to be asked again. */
  elsewhere(shared: SharedTaskStore, record: TaskRecord): Promise<Answer | undefined>
  ended(record: TaskRecord): Answer
}

/** Where nodes share the tasks, and cannot reach them. */
async function orStartingAgain<Value>(asking: Promise<Value>): Promise<Value> {
  try {
    return await asking
  } catch (error) {
    throw error instanceof TransportError ? startingAgain() : error
  }
}

/** Whether this request says that its client can have tasks (2026-07-28). */
function declaresTasks(params: JsonObject | undefined): boolean {
  const meta = params?._meta
  const capabilities = isObject(meta) ? meta[metaKeys.clientCapabilities] : undefined
  return isObject(capabilities) && hasCapability(capabilities, `extensions.${tasksExtension}`)
}

function needsTasks(what: string): McpError {
  const problem = `${what}: the client has not declared the extension ${tasksExtension}`
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } }
  return new McpError(errorCodes.missingClientCapability, problem, { data: { requiredCapabilities } })
}

function endedProgram(): McpError {
  return McpError.invalidParams('params.cursor: this list was made by a program that has ended')
}

/** One for what does not exist, has expired, or is somebody else's: they must look alike. */
function unknownTask(): McpError {
  return McpError.invalidParams('Unknown task')
}

function startingAgain(): McpError {
  return McpError.internal('The tasks are starting again: try once more', { retryable: true })
}

function networkIfFar({ remoteAddress }: Peer): string | undefined {
  return remoteAddress === undefined || isThisMachine(remoteAddress)
    ? undefined
    : `from ${networkOf(remoteAddress)}`
}

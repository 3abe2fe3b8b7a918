import { callerOf } from '../../transports/contract/caller.js'
import { createHash } from 'node:crypto'
import { isModernRevision } from '../../protocol/dialects/versions.js'
import { urlElicitations } from '../../protocol/messages/elicitation.js'
import { errorCodes, isResourceNotFound, McpError, toJsonRpcError } from '../../protocol/wire/errors.js'
import { handled } from '../../runtime/base/promise.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { CaduceusError, messageOf, show } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { World } from '../../runtime/time/world.js'
import { anybody, isNear, shareOf } from '../../transports/base/network.js'
import type { ReturnedUser } from '../../transports/authorization/upstream-logins.js'
import type { Peer } from '../../transports/contract/contract.js'
import { keyOfPrincipal, loginOf, type Principal, rightsOf } from '../../transports/contract/principal.js'
import { ToolContext } from '../context/context.js'
import type { AskMethod } from '../context/ask.js'
import { isUpstream, type UpstreamOptions } from '../definitions/gateway-options.js'
import type {
  Seat,
  SeatAnswers,
  SeatQuestion,
  StartedUpstream,
  Upstream,
  UpstreamCall,
  UpstreamLists,
  UpstreamRecord,
} from '../definitions/upstreams.js'
import { AskError, optionError, tooManyRequests } from '../base/errors.js'
import type { GatewayLogins } from '../holdings/gateway-logins.js'
import { type Verdict, verdictOf } from './breaker.js'
import { type Filter, filterOf } from './filter.js'
import { Gate } from './gate.js'
import { type ListName, placeIn } from './lists.js'
import { schemesOf } from './names.js'
import { needsSignIn, signedIn, whetherReady } from './sign-ins.js'
import { Wants } from './wants.js'

/** A request that goes on to a server. */
export interface Relay {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get' | 'completion/complete'
  readonly params: JsonObject
  /** What limits count; default: the method. */
  readonly tool?: string
  /** What the breaker counts; default: the tool. */
  readonly what?: string
  /** Whether the server runs it as a task only. */
  readonly asTask?: boolean
}

/** A call that is under way, and whose it is. */
interface Underway {
  readonly ctx: ToolContext
  /** Who is asked; a caller without an identity counts as one of its own. */
  readonly asker: unknown
  /** Pages that its client has been asked to visit, by their ids. */
  readonly pages: Set<string>
  /** Questions so far, by what they ask: the same one again has the next number. */
  readonly asked: Map<string, number>
  /** Questions that are open, and when the last one was answered. */
  open: number
  answeredAt: number
  /** Resolves with `isOver` when its server has answered, or nobody waits for that any more. */
  readonly over: Promise<typeof isOver>
}

/** Stands for the answer to a question whose call has ended. */
const isOver = Symbol('over')

interface PassedQuestion {
  readonly method: AskMethod
  readonly params: object
  /** Aborted when its server does not wait for an answer any more. */
  readonly signal: AbortSignal
  /** That of the call that it belongs to, if known. */
  readonly callSignal: AbortSignal | undefined
}

/** Calls whose answers will not come: their server may work on them still, ask, and log. */
interface GivenUp {
  /** Of which connection: another one has nothing of them. */
  readonly server: Upstream['server']
  /** Whose they were; of several callers that of nobody. */
  readonly asker: unknown
  /** When nothing comes of them any more. */
  readonly until: number
}

/** A client of the server: that of all callers, or of one. */
interface Instance {
  /** Who had it started; nobody in particular for one that all share. */
  readonly caller: string
  readonly client: Promise<Upstream>
  /** Once it has been started. */
  running: Upstream | undefined
  readonly calls: Set<Underway>
  givenUp: GivenUp | undefined
  readonly controller: AbortController
  usedAt: number
  /** When its start began. */
  readonly begunAt: number
  /** Has the end of its session, if there is one, mean nothing to it. */
  forget: () => void
}

interface UpstreamLinkInput {
  readonly name: string
  readonly record: UpstreamRecord
  /** A client that runs already, or how to start one. */
  readonly entry: Upstream | StartedUpstream
  readonly options: UpstreamOptions
  /** Milliseconds that a call may take where `options` say nothing. */
  readonly requestTimeout: number
  /** Milliseconds that others wait for its start. */
  readonly startTimeout: number
  readonly world: World
  /** The client that tells what the server offers has been started. */
  readonly began: (client: Upstream) => void
  /** A client could not be started; `isTeller`: that one. */
  readonly failed: (error: unknown, isTeller: boolean) => void
  /** A client of one user is ready, whose server may list to it what it lists to nobody. */
  readonly lent: (client: Upstream, over?: () => void) => void
  /** Logins of users, for servers that want them. */
  readonly logins: GatewayLogins | undefined
  /** Hears of an address here, and of the same as the server knows it. */
  readonly resourceUpdated: (uri: string, own: string) => void
}

/** By which a user signs in to a server that lists nothing before. */
export const signInTool = 'sign_in'
/** Users who were asked to sign in that are known. */
const maxAsked = 1_000
/** Keys of the client that all callers share, and of the one that lists what the server offers. */
const shared = ''
const usualMax = 100
/** Milliseconds after its time that a call is ended here: its client gives it up before, and says why. */
const grace = 1_000
/** Milliseconds at most for which a server is taken to work on a call that was given up. */
const longestWork = 30_000
/** Milliseconds that the time of a request may have begun before that of its call. */
const slack = 100
const usualIdle = 600_000
/** Milliseconds after which a start that nobody waits for has failed: it may never come. */
const longestStart = 300_000
/** Milliseconds that a call waits for a start, of those that it has. */
const longestWait = 60_000
/** Milliseconds in which a server says that it tells of a resource, and nobody needs to look again. */
const soon = 10
/** Milliseconds between two changes of a resource that are told. */
const pace = 100
/** Resources whose changes a server is asked for. */
export const maxWanted = 4_000

/** One server behind a gateway: its clients, the calls under way, and what it asks meanwhile. */
export class UpstreamLink {
  readonly name: string
  readonly #input: UpstreamLinkInput
  #entry: UpstreamLinkInput['entry']
  #options: UpstreamOptions
  #filter: Filter
  #schemes: { readonly lists: UpstreamLists | undefined; readonly all: ReadonlySet<string> } | undefined
  #gate: Gate
  readonly #wants: Wants
  readonly #instances = new Map<string, Instance>()
  /** Resources whose change was told a moment ago. */
  readonly #told = new Map<string, { readonly timer: unknown; isAgain: boolean }>()
  /** The client that was ready last. */
  #teller: Upstream | undefined
  #isEnded = false
  /** Keys of clients whose users were asked to sign in. */
  readonly #isAsked = new Set<string>()

  constructor(input: UpstreamLinkInput) {
    const { name, entry, options, record, world } = input
    this.name = name
    this.#input = input
    this.#entry = entry
    this.#options = options
    this.#filter = filterOf(options)
    this.#gate = new Gate(name, options, world)
    this.#wants = new Wants({
      tell: (uri) =>
        this.#tellTeller(async (client) => {
          const wanted = record.wanted.get(uri)
          if (wanted === undefined) return client.unsubscribe(uri)
          await client.subscribe(uri)
          const { since = Number.POSITIVE_INFINITY } = wanted
          wanted.since = undefined
          // what changed until now it has told nobody
          if (world.now() - since > soon) this.updated(uri)
        }),
    })
    record.unwant = (uri, caller) => this.#wants.changed(uri, caller)
    if (!isStarted(entry)) this.#instances.set(shared, this.#instance(Promise.resolve(entry), entry))
    this.#hearTokens()
  }

  /** The tokens of callers are kept from the start, also where the first call starts the first client. */
  #hearTokens(): void {
    const auth = this.#auth
    // whoever needs one is told why there is none
    if (isObject(auth))
      void handled(Promise.resolve(this.#input.logins?.openExchange(auth.exchange, this.name)))
  }

  get options(): UpstreamOptions {
    return this.#options
  }

  get filter(): Filter {
    return this.#filter
  }

  /** The same server, with other options: what is under way goes on, and counts no more. */
  adopt(entry: StartedUpstream, options: UpstreamOptions): void {
    this.#entry = entry
    this.#options = options
    this.#filter = filterOf(options)
    this.#gate = new Gate(this.name, options, this.#input.world)
    this.#hearTokens()
  }

  get server(): Upstream['server'] {
    return this.#input.record.server
  }

  /** Whether calls start its clients, and nothing else. */
  get isLazy(): boolean {
    return isStarted(this.#entry) && this.#entry.lazy === true
  }

  /** Whether the client that lists what the server offers runs, or is starting. */
  get isRunning(): boolean {
    return this.#instances.has(shared)
  }

  /** Milliseconds after which an idle client is closed, if the option is given. */
  get idle(): number {
    return (isStarted(this.#entry) && this.#entry.idle) || Number.POSITIVE_INFINITY
  }

  /** Whether it has resources, or nothing is known of it yet. */
  get mayHaveResources(): boolean {
    return this.server === undefined || this.server.capabilities.resources !== undefined
  }

  /** Milliseconds after which a call is ended whatever its client does; undefined: as for all servers. */
  get lastTimeout(): number | undefined {
    const { timeout } = this.options
    return timeout === undefined ? undefined : timeout + grace
  }

  /** Whether its templates decide which addresses are offered, and to whom. */
  get needsTemplates(): boolean {
    return this.options.permits !== undefined || this.filter.needsTemplates
  }

  /** Whether they do, and nobody knows yet which it has: then nothing is offered at an unlisted address. */
  get lacksTemplates(): boolean {
    return this.needsTemplates && this.#input.record.lists?.templatesKnown !== true
  }

  get startTimeout(): number {
    return this.#input.startTimeout
  }

  get clock(): Clock {
    return this.#input.world
  }

  get completes(): boolean {
    const { capabilities, revision } = this.server ?? {}
    // 2024-11-05 has completions, and no capability for them
    return capabilities?.completions !== undefined || revision === '2024-11-05'
  }

  /** Starts the client that tells what is there, unless it runs. */
  begin(): void {
    if (!this.#isEnded) this.#instanceAt(shared, undefined)
  }

  /** That client has a connection, maybe to another server. */
  ready(client: Upstream): void {
    const { record, world } = this.#input
    record.server = client.server
    const instance = this.#instances.get(shared)
    if (instance !== undefined) instance.usedAt = world.now()
    this.#gate.reset()
    tellLogs(client)
    // a client that comes back tells by itself what may have changed; another one knows of nothing
    const isAnother = this.#teller !== client && record.wasReady
    for (const [uri, resource] of record.wanted) {
      if (isAnother) resource.since = Number.NEGATIVE_INFINITY
      this.#wants.changed(uri, resource.caller)
    }
    this.#teller = client
    record.wasReady = true
  }

  /** That client will never be ready again. Whether it ended by itself: then the next call starts another one. */
  over(client: Upstream): boolean {
    const instance = this.#instances.get(shared)
    if (!isStarted(this.#entry) || instance?.running !== client) return false
    this.#close(shared, instance)
    return true
  }

  /**
   * Subscribes to a resource at the server, which is `listed` here; reference-counted: the last to undo it
   * unsubscribes. Throws McpError 429 for one resource too many of the server, or of one client of it.
   */
  want(uri: string, listed: string, peer: Peer, asker?: string): () => void {
    const { record } = this.#input
    const { wanted, places } = record
    const known = wanted.get(uri)
    const since = this.#input.world.now()
    const resource = known ?? {
      ...{ listed: new Map(), moved: new Map(), since },
      caller: this.#wantingCaller(peer, asker),
    }
    resource.listed.set(listed, (resource.listed.get(listed) ?? 0) + 1)
    if (known === undefined) {
      wanted.set(uri, resource)
      places.take(resource.caller)
      this.begin()
      this.#wants.changed(uri, resource.caller)
    }
    return () => {
      const left = (resource.listed.get(listed) ?? 0) - 1
      if (left > 0) resource.listed.set(listed, left)
      else {
        resource.listed.delete(listed)
        resource.moved.get(listed)?.undo()
        resource.moved.delete(listed)
      }
      if (resource.listed.size > 0 || wanted.get(uri) !== resource) return
      wanted.delete(uri)
      places.giveBack(resource.caller)
      // not of this link: another one may have taken its place
      record.unwant(uri, resource.caller)
    }
  }

  /**
   * Who makes the server tell of one more resource. A peer that is trusted may, as a session does with what it
   * had.
   */
  #wantingCaller(peer: Peer, asker: string | undefined): string {
    const { places } = this.#input.record
    const caller = callerOf(peer, asker)
    const isServed = places.hasItsShare(caller)
    if (peer.trusted === true || (!places.isFull && !isServed)) return caller
    const those = isServed ? `${shareOf(maxWanted)} resources for one client` : `${maxWanted} resources`
    throw new McpError(tooManyRequests, `${this.name} is asked for changes of ${those} already`)
  }

  /** The server reports a change; one that nobody has subscribed to is ignored, and many of one are few. */
  updated(uri: string): void {
    const { record, resourceUpdated, world } = this.#input
    const wanted = record.wanted.get(uri)
    if (wanted === undefined || this.#isEnded) return
    const told = this.#told.get(uri)
    if (told !== undefined) {
      told.isAgain = true
      return
    }
    // of what has moved another one tells
    for (const listed of wanted.listed.keys()) if (!wanted.moved.has(listed)) resourceUpdated(listed, uri)
    const timer = outside(() => world.setTimeout(() => this.#tellAgain(uri), pace))
    this.#told.set(uri, { timer, isAgain: false })
  }

  #tellAgain(uri: string): void {
    const told = this.#told.get(uri)
    this.#told.delete(uri)
    if (told?.isAgain === true) this.updated(uri)
  }

  /** What the server logs goes to the one caller that may have caused it. */
  log({ level, data, logger }: Record<string, unknown>, key: string = shared): void {
    const instance = this.#instances.get(key)
    const [call] = instance === undefined ? [] : callsOfOne(instance, 'log', this.#input.world.now())
    const from = typeof logger === 'string' ? `${this.name}/${logger}` : this.name
    if (call !== undefined) call.ctx.log(level as never, data, from)
  }

  /** The user is done at a page that a call under way has asked for. */
  visited(elicitationId: string): void {
    for (const { calls } of this.#instances.values())
      for (const { ctx, pages } of calls) if (pages.has(elicitationId)) ctx.elicitationComplete(elicitationId)
  }

  /**
   * Makes a request for a caller, who may have to sign in first. Rejects with McpError, or as its signal
   * says.
   */
  relay(ctx: ToolContext, relay: Relay): Promise<JsonObject> {
    const { principal } = ctx
    const { logins } = this.#input
    if (this.#auth !== 'oauth' || principal === undefined || logins === undefined)
      return this.#relay(ctx, relay)
    const key = this.#keyFor(ctx)
    return signedIn(ctx, relay.method, {
      server: this.name,
      principal,
      logins,
      isAsked: this.#isAsked.has(key),
      call: async () => {
        const result = this.isSignIn(relay.tool) ? await this.#signInOnly(ctx) : await this.#relay(ctx, relay)
        this.#isAsked.delete(key)
        return result
      },
      refused: () => {
        // it is looked up whether they have come back, before their server is asked again
        this.#isAsked.delete(this.#isAsked.size < maxAsked ? '' : first(this.#isAsked))
        this.#isAsked.add(key)
        if (this.#instances.get(key)?.calls.size === 0) this.#close(key)
      },
    })
  }

  /**
   * What is offered of it, once that is known; where it lists nothing without a user, also a tool to sign in.
   */
  get lists(): UpstreamLists | undefined {
    const { lists } = this.#input.record
    if (!this.isSignIn(signInTool)) return lists
    const description = `Signs you in to ${this.name}. Its tools are listed once somebody has signed in.`
    const tool = { name: signInTool, description, inputSchema: { type: 'object' } }
    const { tools, ...others } = lists ?? { tools: [], resources: [], templates: [], prompts: [] }
    return { ...others, tools: [...tools, tool] }
  }

  /** The gateways that an entry came through, if its server said so. */
  throughOf(list: ListName, own: string): readonly string[] | undefined {
    const { through } = this.#input.record.lists ?? {}
    const key = placeIn(list, own)
    // an engine may have kept anything
    const way: unknown = isObject(through) && Object.hasOwn(through, key) ? through[key] : undefined
    return Array.isArray(way) ? way : undefined
  }

  /** The schemes of the addresses and templates that it lists. */
  get schemes(): ReadonlySet<string> {
    const { lists } = this.#input.record
    if (this.#schemes === undefined || this.#schemes.lists !== lists) {
      const { resources = [], templates = [] } = lists ?? {}
      const texts = [
        ...resources.map(({ uri }) => String(uri)),
        ...templates.map(({ uriTemplate }) => String(uriTemplate)),
      ]
      this.#schemes = { lists, all: schemesOf(texts) }
    }
    return this.#schemes.all
  }

  /** Whether a tool is ours, and not the server's. */
  isSignIn(name: string | undefined): boolean {
    if (name !== signInTool || this.#auth !== 'oauth' || !this.isShared) return false
    return this.#input.record.lists?.tools.some((tool) => tool.name === signInTool) !== true
  }

  /** Whether nothing is offered where the server lists nothing without a user. */
  get wantsLists(): boolean {
    return this.#auth === 'oauth' && !this.isShared && this.#input.record.lists === undefined
  }

  /** Whether what the server lists to one user is for all. */
  get isShared(): boolean {
    return isStarted(this.#entry) && this.#entry.lists === 'shared'
  }

  /** A tool of ours: the server hears of it as of a list, which comes when its user is let in. */
  async #signInOnly(ctx: ToolContext): Promise<JsonObject> {
    const instance = this.#instanceAt(this.#keyFor(ctx), ctx)
    const client = instance.running ?? (await this.#started(instance, ctx, this.#input.requestTimeout))
    await client.request('tools/list', {}, { signal: ctx.signal }).catch((error: unknown) => {
      throw told(this.name, 'tools/call', error, this.#isEnded)
    })
    const text = `You are signed in to ${this.name}. Its tools are listed now.`
    return { content: [{ type: 'text', text }] }
  }

  get #auth(): StartedUpstream['auth'] {
    return isStarted(this.#entry) ? this.#entry.auth : undefined
  }

  /**
   * What a user came back with is traded by a client of its own; resolves with why not, once that is known.
   */
  async finishLogin(principal: Principal, returned: ReturnedUser): Promise<string | undefined> {
    const entry = this.#entry
    if (!isStarted(entry) || this.#isEnded) return 'its server has gone'
    const controller = new AbortController()
    const key = `principal ${keyOfPrincipal(principal)}`
    const seat = await this.#seatFor(
      key,
      { principal, session: undefined, signal: controller.signal },
      returned,
    )
    const late = (): never => {
      controller.abort(new Error(`${this.name}: its client has not been started`))
      // one that comes later is not needed any more
      starting.then((client) => client.close()).catch(() => {})
      throw new Error(`its client has not been started within ${longestWait} ms`)
    }
    const starting = outside(async () => entry.start(seat))
    const how = { clock: this.clock, ms: longestWait, late }
    const client = await waitWithin<Upstream>(how, (resolve, reject) => {
      starting.then(resolve, reject)
      return undefined
    })
    const end = (): void => {
      controller.abort(new Error(`${this.name}: the client is not needed any more`))
      outside(() => void client.close().catch(() => {}))
    }
    const problem = await whetherReady(client, this.clock).catch((error: unknown) => {
      end()
      throw error
    })
    // whoever has signed in sees at once what there is
    if (problem === undefined && this.isShared) this.#input.lent(client, end)
    else end()
    return problem
  }

  async #seatFor(
    key: string,
    { principal, session, signal }: Pick<Seat, 'principal' | 'session' | 'signal'>,
    returned?: ReturnedUser,
  ): Promise<Seat> {
    const { logins } = this.#input
    const auth = this.#auth
    const opened = auth === 'oauth' ? await logins?.open() : undefined
    const trade = isObject(auth) ? await logins?.openExchange(auth.exchange, this.name) : undefined
    return {
      answers: () => this.answersFor(key),
      principal,
      session,
      signal,
      login: () => opened?.loginFor(this.name, principal, signal, returned) ?? noLogin(this.name, "'oauth'"),
      token: async ({ refused } = {}) => trade?.(principal, refused) ?? noLogin(this.name, '{ exchange }'),
    }
  }

  async #relay(
    ctx: ToolContext,
    { method, params, tool = method, what = tool, asTask = false }: Relay,
  ): Promise<JsonObject> {
    const asker = askerOf(ctx)
    const note = (isTheirs = false): void =>
      ToolContext.scopeOf(ctx).noteUpstream?.(this.name, String(params.name ?? params.uri), isTheirs)
    note()
    const leave = this.#gate.enter(tool, callerOf(ctx.peer, ctx.session.id), what)
    const { world, requestTimeout } = this.#input
    const { timeout } = this.options
    const limit = timeout ?? requestTimeout
    const began = world.now()
    let verdict: Verdict = 'unsaid'
    try {
      const instance = this.#instanceAt(this.#keyFor(ctx), ctx)
      let end = (): void => {}
      const over = new Promise<typeof isOver>((resolve) => {
        end = () => resolve(isOver)
      })
      const questions = { asked: new Map(), pages: new Set<string>(), open: 0, answeredAt: began, over }
      const call: Underway = { ctx, asker: asker ?? ctx, ...questions }
      instance.calls.add(call)
      try {
        const client = instance.running ?? (await this.#started(instance, ctx, Math.min(limit, longestWait)))
        // of the same time: its start counts
        const left = timeout && Math.max(1, timeout - (world.now() - began))
        const result = await this.#request(client, ctx, { method, params, asTask, timeout: left }).catch(
          (error: unknown) => {
            const now = world.now()
            const isLate = ctx.signal.aborted && now - began >= limit - slack
            if (ctx.signal.aborted || mayGoOn(error)) giveUp(instance, call.asker, now)
            // time in which a caller is asked is not the server's
            const isAsked = call.open > 0 || (call.asked.size > 0 && now - call.answeredAt < limit / 2)
            verdict = isAsked && (isLate || isTimeout(error)) ? 'unsaid' : isLate ? 'fails' : verdictOn(error)
            if (isNoMethod(error, method)) return { completion: { values: [] } }
            const toldError = told(this.name, method, error, this.#isEnded)
            // what they say of a call is not what became of it here
            if (error instanceof McpError && !ofConnection.has(error.code)) note(true)
            throw toldError
          },
        )
        if (verdict === 'unsaid') verdict = 'serves'
        // of several that are asked for a resource, the one that has it
        note()
        return this.#passedBack(result, client, ctx)
      } finally {
        instance.calls.delete(call)
        end()
        instance.usedAt = this.#input.world.now()
      }
    } finally {
      leave(verdict)
    }
  }

  /**
   * The result without what is not for this caller: of another revision, or of the way between client and
   * server.
   */
  #passedBack(result: JsonObject, { server }: Upstream, ctx: ToolContext): JsonObject {
    const {
      resultType: _type,
      inputRequests: _asked,
      requestState: _state,
      ttlMs,
      cacheScope,
      ...rest
    } = result
    const isKept = isModernRevision(ctx.session.revision) && isModernRevision(server?.revision ?? '')
    if (!isKept || (ttlMs === undefined && cacheScope === undefined)) return rest
    // what one caller may see, another one may not
    const { per = 'gateway' } = isStarted(this.#entry) ? this.#entry : {}
    const isForOne =
      per !== 'gateway' || this.options.scopes !== undefined || this.options.permits !== undefined
    const scope = isForOne ? 'private' : cacheScope
    return {
      ...rest,
      ...(ttlMs !== undefined && { ttlMs }),
      ...(scope !== undefined && { cacheScope: scope }),
    }
  }

  /** Closes idle clients; the next call starts them again. */
  sweep(): void {
    const { record, world } = this.#input
    for (const [key, { calls, running, usedAt, begunAt }] of this.#instances) {
      const idle = this.#idleOf(key)
      // also while calls wait for it: each has a time of its own
      if (running === undefined && world.now() - begunAt >= longestStart) {
        this.#close(key)
        this.#input.failed(new Error(`it has not been started within ${longestStart} ms`), key === shared)
        continue
      }
      const isStarting = running === undefined || beginning.has(running.state.phase)
      const isUsed = isStarting || calls.size > 0 || (key === shared && record.wanted.size > 0)
      if (idle > 0 && !isUsed && world.now() - usedAt >= idle) this.#close(key)
    }
  }

  /** Closes the clients that were started here. */
  end(): void {
    this.#isEnded = true
    for (const { timer } of this.#told.values()) this.#input.world.clearTimeout(timer)
    this.#told.clear()
    this.#wants.end()
    if (isStarted(this.#entry)) for (const key of this.#instances.keys()) this.#close(key)
    this.#instances.clear()
  }

  /** How a client that is started for `key` answers its server. */
  answersFor(key: string): SeatAnswers {
    const pass =
      (method: AskMethod) =>
      (params: object, { signal, callSignal }: SeatQuestion): Promise<never> =>
        this.#pass(key, { method, params, signal, callSignal })
    return {
      onElicit: { form: pass('elicitation/create'), url: pass('elicitation/create') },
      onSample: { run: pass('sampling/createMessage'), tools: true, context: true },
      roots: async (ctx) => {
        const { roots } = (await pass('roots/list')({}, ctx)) as { roots: never }
        return roots
      },
    }
  }

  async #request(
    client: Upstream,
    ctx: ToolContext,
    relay: Required<Pick<Relay, 'method' | 'params' | 'asTask'>> & { readonly timeout: number | undefined },
  ) {
    const { method, params, asTask, timeout } = relay
    const scope = ToolContext.scopeOf(ctx)
    // a server that is not asked for progress may do less
    const isToldOf = scope.progressToken !== undefined || scope.noteProgress !== undefined
    const options: UpstreamCall = {
      signal: ctx.signal,
      ...(timeout !== undefined && { timeout, totalTimeout: timeout }),
      ...(isToldOf && {
        onProgress: ({ progress, total, message }) => void ctx.progress(progress, total, message),
        resetOnProgress: true,
      }),
    }
    if (!asTask) return (await client.request(method, passedOn(params), options)) as JsonObject
    const { name, arguments: args } = params
    const given = isObject(args) ? args : {}
    return { ...((await client.callTool(String(name), given, options)) as JsonObject) }
  }

  /**
   * Asks the client whose call is under way. Where it has several, and the one that was asked for ends first,
   * another one is asked for. Rejects with McpError if the client could be one of several.
   */
  async #pass(key: string, { method, params, signal, callSignal }: PassedQuestion): Promise<never> {
    const { world } = this.#input
    const tried = new Set<Underway>()
    while (true) {
      const instance = this.#instances.get(key)
      const call = instance && callAsked(instance, { callSignal, tried, now: world.now() })
      if (call === undefined) {
        const callers = instance?.calls.size ?? 0
        // servers ask for roots when they start: then no call is under way, and there are none
        if (callers === 0 && method === 'roots/list') return { roots: [] } as never
        throw McpError.invalidRequest(this.#whyNot(method, callers, tried.size > 0))
      }
      tried.add(call)
      const answer = await this.#askFor(call, method, params)
      if (answer !== isOver) return answer as never
      signal.throwIfAborted()
    }
  }

  #whyNot(method: AskMethod, callers: number, hasAsked: boolean): string {
    if (hasAsked) return `${method}: the call that it was asked for has ended`
    if (callers === 0) return `${method}: no call is under way, so there is nobody to ask`
    return `${method}: calls of several clients are under way: start ${this.name} per session or principal, and it may ask`
  }

  async #askFor(call: Underway, method: AskMethod, params: object): Promise<unknown> {
    const { _meta, task: _task, ...question } = params as JsonObject
    const about = createHash('sha256')
      .update(JSON.stringify([method, question]))
      .digest('base64url')
      .slice(0, 16)
    const { elicitationId } = question
    if (typeof elicitationId === 'string') call.pages.add(elicitationId)
    const again = call.asked.get(about) ?? 0
    call.asked.set(about, again + 1)
    call.open += 1
    try {
      const scope = ToolContext.scopeOf(call.ctx)
      // what is asked for a call that has ended may never be answered
      const asking = scope.ask(`${this.name} ${about} ${again}`, method, question as never, {})
      return await Promise.race([asking, call.over])
    } catch (error) {
      if (!(error instanceof AskError) || error.code !== 'MISSING_CAPABILITY') throw error
      throw McpError.methodNotFound(`${method}: the client that called cannot be asked`)
    } finally {
      call.open -= 1
      call.answeredAt = this.#input.world.now()
    }
  }

  /** Where the client of a caller is. Throws McpError for one that cannot have one. */
  #keyFor(ctx: ToolContext): string {
    const entry = this.#entry
    if (!isStarted(entry)) return shared
    const { per = 'gateway', max = 1 } = entry
    if (per === 'gateway') return this.#leastBusy(max)
    const id = per === 'session' ? ctx.session.id : undefined
    if (id !== undefined) return `session ${id}${rightsKey(ctx.principal)}`
    if (ctx.principal !== undefined)
      return `principal ${keyOfPrincipal(ctx.principal)}${rightsKey(ctx.principal)}${this.#loginOf(ctx.principal)}`
    const what = per === 'session' ? 'a session, or a principal' : 'a principal'
    throw McpError.invalidRequest(`${this.name} has a client for each ${per}: the call needs ${what}`)
  }

  /** Whoever has signed out, and in again, has other tokens. */
  #loginOf(principal: Principal): string {
    const login = loginOf(principal)
    return this.#auth === undefined || login === undefined ? '' : ` ${login}`
  }

  /** Among those that all share: one without calls, else a new one, else the one with the fewest. */
  #leastBusy(max: number): string {
    let best = shared
    let least = Number.POSITIVE_INFINITY
    for (let number = 1; number <= max && least > 0; number++) {
      const key = number === 1 ? shared : `number ${number}`
      const { calls, running } = this.#instances.get(key) ?? {}
      // one that is away goes last: its calls would wait
      const isAway = running !== undefined && running.state.phase !== 'ready'
      const busy = calls === undefined ? 0.5 : calls.size + (isAway ? 1_000_000 : 0)
      if (busy < least) [best, least] = [key, busy]
    }
    return best
  }

  /** Rejects with McpError, or as the signal of the caller says. */
  #started({ client }: Instance, { signal }: ToolContext, ms: number): Promise<Upstream> {
    const { world } = this.#input
    const late = (): never => {
      throw notStarted(this.name, new Error(`it has not been started within ${ms} ms`))
    }
    return waitWithin<Upstream>({ clock: world, ms, late, signal }, (resolve, reject) => {
      client.then(resolve, (error: unknown) => reject(notStarted(this.name, error)))
      return undefined
    })
  }

  /** Throws McpError -32603, retryable, when there are too many. */
  #instanceAt(key: string, ctx: ToolContext | undefined): Instance {
    const { name } = this.#input
    const entry = this.#entry
    const known = this.#instances.get(key)
    const isOver = isStarted(entry) && ended.has(known?.running?.state.phase ?? '')
    if (known !== undefined && !isOver) return known
    // it has ended, and that was not reported yet
    if (known !== undefined) this.#close(key, known)
    if (this.#isEnded || !isStarted(entry))
      throw McpError.internal(`${name} is not there any more`, { retryable: true, sent: false })
    const caller = ctx === undefined ? anybody : callerOf(ctx.peer, undefined)
    const hasCallers = entry.per === 'session' || entry.per === 'principal'
    if (hasCallers && key !== shared) {
      this.#makeRoom(entry.max ?? usualMax, caller)
      // what is listed is looked at again
      this.begin()
    }
    const controller = new AbortController()
    const whose = {
      principal: key === shared ? undefined : ctx?.principal,
      session: key.startsWith('session ') ? ctx?.session.id : undefined,
      signal: controller.signal,
    }
    // not in the scope of the caller, which ends before
    const starting = outside(async (): Promise<Upstream> => {
      const client: unknown = await entry.start(await this.#seatFor(key, whose))
      if (isUpstream(client)) return client
      throw new TypeError(`start: expected a client, got ${show(client)}`)
    })
    const instance = { ...this.#instance(starting, undefined), caller, controller }
    this.#instances.set(key, instance)
    const holder =
      key.startsWith('session ') && ctx !== undefined ? ToolContext.scopeOf(ctx).hold?.() : undefined
    // it ends with its session; one that comes back has it started again
    if (holder !== undefined) instance.forget = outside(() => holder.onExit(() => this.#close(key, instance)))
    // so does what it tells: the client may serve others when this caller has gone
    void outside(() =>
      starting.then(
        (client) => {
          if (this.#instances.get(key) !== instance) return client.close().catch(() => {})
          instance.running = client
          if (key === shared) this.#input.began(client)
          else this.#hear(client, key, instance)
          return undefined
        },
        (error: unknown) => {
          if (this.#instances.get(key) !== instance) return
          this.#close(key, instance)
          this.#input.failed(error, key === shared)
        },
      ),
    )
    return instance
  }

  /** A client for calls, not for lists. */
  #hear(client: Upstream, key: string, instance: Instance): void {
    client.onNotification('notifications/message', (params) => this.log(params, key))
    client.onNotification('notifications/elicitation/complete', (params) =>
      this.visited(String(params.elicitationId)),
    )
    client.onState(({ phase }) => {
      if (phase === 'ready') {
        tellLogs(client)
        if (this.isShared) this.#input.lent(client)
      }
      // it will never be ready again: the next call starts another one
      else if (ended.has(phase)) this.#close(key, instance)
    })
    tellLogs(client)
  }

  #instance(client: Promise<Upstream>, running: Upstream | undefined): Instance {
    const now = this.#input.world.now()
    return {
      caller: anybody,
      client,
      running,
      calls: new Set(),
      givenUp: undefined,
      controller: new AbortController(),
      usedAt: now,
      begunAt: now,
      forget: () => {},
    }
  }

  /**
   * Closes the client that is idle for the longest time, of the callers that have most: of none that has fewer
   * than the newcomer, and of the newcomer if that has three quarters, as far as it is known.
   */
  #makeRoom(max: number, newcomer: string): void {
    const own = [...this.#instances].filter(([key]) => key !== shared)
    const counts = new Map<string, number>()
    for (const [, { caller }] of own) counts.set(caller, (counts.get(caller) ?? 0) + 1)
    const countOf = (caller: string): number => counts.get(caller) ?? 0
    const hasItsShare = !isNear(newcomer) && countOf(newcomer) >= shareOf(max)
    if (own.length < max && !hasItsShare) return
    const [longest] = own
      .filter(([, { calls, caller }]) => calls.size === 0 && countOf(caller) >= countOf(newcomer))
      .filter(([, { caller }]) => !hasItsShare || caller === newcomer)
      .sort(([, a], [, b]) => countOf(b.caller) - countOf(a.caller) || a.usedAt - b.usedAt)
    if (longest === undefined)
      throw McpError.internal(`${this.name} has ${own.length} clients at work already: try again`, {
        retryable: true,
        sent: false,
      })
    this.#close(longest[0])
  }

  #close(key: string, instance = this.#instances.get(key)): void {
    if (this.#instances.get(key) === instance) this.#instances.delete(key)
    instance?.forget()
    instance?.controller.abort(new Error(`${this.name}: the client is not needed any more`))
    outside(() => instance?.client.then((client) => client.close()).catch(() => {}))
  }

  #idleOf(key: string): number {
    const entry = this.#entry
    if (!isStarted(entry)) return 0
    return entry.idle ?? (key === shared && entry.lazy !== true ? 0 : usualIdle)
  }

  async #tellTeller(fn: (client: Upstream) => Promise<void>): Promise<void> {
    // a server that does not tell of changes is asked in vain; it is asked again when it is ready again
    await this.#instances
      .get(shared)
      ?.client.then(fn)
      .catch(() => {})
  }
}

function noLogin(name: string, auth: string): never {
  throw optionError('auth', `gateway: ${name}: start: the seat has this with auth: ${auth} alone`)
}

function first(keys: Iterable<string>): string {
  for (const key of keys) return key
  return ''
}

export function isStarted(entry: Upstream | StartedUpstream): entry is StartedUpstream {
  return 'start' in entry && typeof entry.start === 'function'
}

interface Asking {
  readonly callSignal: AbortSignal | undefined
  /** Calls that have ended with the question. */
  readonly tried: ReadonlySet<Underway>
  readonly now: number
}

/**
 * The call that a question belongs to. Where that is not known, of those that it can be of one that waits for no
 * answer yet, and of these the oldest: what takes longest asks, most likely.
 */
function callAsked(instance: Instance, { callSignal, tried, now }: Asking): Underway | undefined {
  const known = callSignal && [...instance.calls].find(({ ctx }) => ctx.signal === callSignal)
  if (known !== undefined) return tried.has(known) ? undefined : known
  const all = callsOfOne(instance, 'question', now).filter((call) => !tried.has(call))
  return all.findLast(({ open }) => open === 0) ?? all.at(-1)
}

/** The calls under way, newest first, if they and those that were given up are all of one caller. */
function callsOfOne(instance: Instance, what: 'question' | 'log', now: number): Underway[] {
  const { calls, running } = instance
  const all = [...calls].reverse()
  const asker = all[0]?.asker
  const givenUp = givenUpNow(instance, now)
  // a server of 2026-07-28 asks by its answer to a call that is under way
  const isOfCalls = what === 'question' && isModernRevision(running?.server?.revision ?? '')
  if (givenUp !== undefined && !isOfCalls && givenUp.asker !== asker) return []
  return all.every((each) => each.asker === asker) ? all : []
}

/** Its server may go on with it: many do not hear that a call is cancelled. */
function giveUp(instance: Instance, asker: unknown, now: number): void {
  const givenUp = givenUpNow(instance, now)
  const until = now + longestWork
  const isAlone = givenUp === undefined || givenUp.asker === asker
  instance.givenUp = {
    server: instance.running?.server,
    asker: isAlone ? asker : undefined,
    until: Math.max(until, givenUp?.until ?? until),
  }
}

function givenUpNow({ givenUp, running }: Instance, now: number): GivenUp | undefined {
  return givenUp !== undefined && now < givenUp.until && givenUp.server === running?.server
    ? givenUp
    : undefined
}

/**
 * A client that was started with what one token may do serves no token of the same person that may do less, or
 * else.
 */
function rightsKey(principal: Principal | undefined): string {
  return principal === undefined ? '' : ` ${rightsOf(principal)}`
}

/**
 * Who calls: a session, or, without one, a program of a principal, as it calls itself: that only tells apart
 * those of one principal. Undefined for a request without both: its id and its address may be another
 * client's, too.
 */
function askerOf({ principal, session, peer }: ToolContext): string | undefined {
  if (session.id !== undefined) return `session ${session.id}`
  const { name, version } = session.client
  const program = JSON.stringify([name, version, peer.remoteAddress])
  return principal === undefined
    ? undefined
    : `principal ${keyOfPrincipal(principal)}${rightsKey(principal)} ${program}`
}

/** A server of 2026-07-28 logs nothing unless it is asked; the clients here choose among what it tells. */
function tellLogs(client: Upstream): void {
  const { server } = client
  if (server?.capabilities.logging === undefined || !isModernRevision(server.revision)) return
  client.setLevel('info').catch(() => {})
}

/** Why is for whoever runs the gateway, unless the function that starts clients has words for callers. */
function notStarted(name: string, cause: unknown): McpError {
  if (cause instanceof McpError) return cause
  if (needsSignIn(cause)) return signInNeeded(name, cause)
  const data = { code: 'NOT_STARTED', retryable: true, sent: false }
  return new McpError(errorCodes.internalError, `${name}: its client could not be started: try again`, {
    data,
    cause,
  })
}

/** The server was never ready, and why: it is unknown whether it has what is asked for. */
export function notKnown(name: string, reason?: unknown): McpError {
  if (needsSignIn(reason)) return signInNeeded(name, reason)
  const data = { code: 'NOT_STARTED', retryable: true, sent: false }
  const problem = `${name}: it is not known yet what it offers: its client has not started, or has not told: try again`
  return new McpError(errorCodes.internalError, problem, { data })
}

/** What there is will be known once a user has signed in, who may be this caller. */
export function signInFirst(name: string): McpError {
  const data = { code: 'SIGN_IN_NEEDED', retryable: true, sent: false }
  const problem = `${name}: it is not known yet what it offers: sign in by its tool ${signInTool} first`
  return new McpError(errorCodes.internalError, problem, { data })
}

/** Where is for whoever runs the gateway: a caller can do nothing. */
function signInNeeded(name: string, cause: unknown): McpError {
  const data = { code: 'SIGN_IN_NEEDED', retryable: false, sent: false }
  const problem = `${name}: ${words.SIGN_IN_NEEDED}`
  return new McpError(errorCodes.internalError, problem, { data, cause })
}

/** Whether its server may work on a call that came to nothing here. */
function mayGoOn(error: unknown): boolean {
  if (!(error instanceof CaduceusError) || error instanceof McpError) return false
  return !isObject(error.data) || error.data.sent !== false
}

function isTimeout(error: unknown): boolean {
  return error instanceof CaduceusError && error.code === 'TIMEOUT'
}

function verdictOn(error: unknown): Verdict {
  if (error instanceof McpError) return 'serves'
  if (!(error instanceof CaduceusError)) return 'unsaid'
  const { code, data } = error
  const status = isObject(data) && typeof data.status === 'number' ? data.status : undefined
  return verdictOf({ code: String(code), status })
}

/** A server of 2024-11-05 may not know completions, and has no other way to say so. */
function isNoMethod(error: unknown, method: Relay['method']): boolean {
  return (
    error instanceof McpError && error.code === errorCodes.methodNotFound && method === 'completion/complete'
  )
}

/** The error that the caller gets for a failure. */
function told(name: string, method: Relay['method'], error: unknown, isEnded: boolean): unknown {
  if (error instanceof CaduceusError && !(error instanceof McpError))
    return refusalOf(name, method, error, isEnded)
  if (error instanceof McpError && ofConnection.has(error.code)) {
    const data = { code: String(error.code), retryable: error.retryable, sent: true }
    return McpError.internal(`${name}: ${method}: ${error.message}`, data)
  }
  // hosts open what stands there, and trust this gateway with it
  const isPage = error instanceof McpError && error.code === errorCodes.urlElicitationRequired
  const hasPages = isPage && isObject(error.data) && error.data.elicitations !== undefined
  if (hasPages && urlElicitations(error).length === 0)
    return McpError.internal(
      `${name}: ${method}: it wants its user to see a page, and none of http or https is named`,
    )
  const isMissing =
    error instanceof McpError && method === 'resources/read' && isResourceNotFound(toJsonRpcError(error))
  return isMissing ? McpError.notFound(error.message, error.data as { readonly uri: string }) : error
}

/**
 * Errors that say something of the connection with whoever sends them: passed on, the caller would give up its own
 * one, or have its user grant more here, for what a server behind wants.
 */
const ofConnection: ReadonlySet<number> = new Set([
  errorCodes.unsupportedProtocolVersion,
  errorCodes.headerMismatch,
  401,
  403,
])

/** Phases of a client that come before it is ready, and after which it never will be. */
const beginning: ReadonlySet<string> = new Set(['connecting', 'initializing'])
const ended: ReadonlySet<string> = new Set(['failed', 'closed'])

const notPassed = new Set(['task', 'inputResponses', 'requestState'])

/** The params without what belongs to the way between the client and this gateway. */
function passedOn(params: JsonObject): JsonObject {
  const entries = Object.entries(params).flatMap(([name, value]): [string, unknown][] => {
    if (notPassed.has(name)) return []
    if (name !== '_meta' || !isObject(value)) return [[name, value]]
    const meta = Object.entries(value).filter(
      ([key]) => key !== 'progressToken' && !key.startsWith('io.modelcontextprotocol/'),
    )
    return meta.length === 0 ? [] : [[name, Object.fromEntries(meta)]]
  })
  return Object.fromEntries(entries)
}

/** What became of the call; the words of the client may be for whoever runs the gateway alone. */
function refusalOf(name: string, method: string, error: CaduceusError, isEnded: boolean): McpError {
  const sent = isObject(error.data) && typeof error.data.sent === 'boolean' ? error.data.sent : true
  const isTold = error.code === 'INVALID_RESPONSE' || isTooLong(error.cause)
  const said = isTold ? `: ${messageOf(error)}` : ''
  const text = `${name}: ${method}: ${words[String(error.code)] ?? `failed (${error.code})`}${said}`
  // a gateway that is started again has the same servers
  const retryable = error.retryable || (isEnded && error.code === 'CLOSED')
  const data = { code: error.code, retryable, sent }
  return new McpError(errorCodes.internalError, text, { data, cause: error })
}

/** Whether a message was longer than its client takes, or sends. */
function isTooLong(cause: unknown): boolean {
  return cause instanceof CaduceusError && /^(?:MESSAGE|LINE|EVENT)_TOO_LONG$/.test(String(cause.code))
}

const words: Readonly<Record<string, string>> = Object.freeze({
  CONNECTION_LOST: 'the connection to the server was lost before its answer came',
  SESSION_NOT_FOUND: 'the server has forgotten the session',
  NOT_READY: 'the server cannot be reached now',
  CONNECT_FAILED: 'the server cannot be reached',
  TIMEOUT: 'the server did not answer in time',
  QUEUE_FULL: 'too many calls wait for the server',
  CLOSED: 'the server is not there any more',
  SIGN_IN_NEEDED: 'whoever runs the gateway has to sign in to the server first',
})

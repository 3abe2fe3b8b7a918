import { backoff } from '../../runtime/time/backoff.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { type Deferred, defineActor } from '../../runtime/process/behaviour.js'
import { type ActorContext, lastingWorld } from '../../runtime/process/context.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { didYouMean } from '../../runtime/base/near.js'
import { outside } from '../../runtime/faults/containment.js'
import { processOf, type RefOf } from '../../runtime/process/ref.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import { describe } from '../../runtime/watch/inspect.js'
import { type Component, componentIn, itself, type ResourceMatch } from '../catalog/catalog.js'
import { isAllowed } from '../context/scopes.js'
import type { ToolDefinition } from '../definitions/define-tool.js'
import {
  type GatewayPlan,
  isUpstream,
  isUpstreams,
  unknownServer,
  type UpstreamOptions,
} from '../definitions/gateway-options.js'
import type {
  Owner,
  StartedUpstream,
  StartUpstream,
  Upstream,
  UpstreamLists,
  UpstreamRecord,
  Upstreams,
} from '../definitions/upstreams.js'
import type { Peer } from '../../transports/contract/contract.js'
import { emitServer, type GatewayEvent } from '../base/events.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { baseActor } from '../subscriptions/base-actor.js'
import {
  componentsOf,
  foundAt,
  hearersAt,
  heldAt,
  type LinkAim,
  pendingAt,
  routedTemplates,
} from './components.js'
import { type HeldAddresses, heldAddresses } from './held-addresses.js'
import { visible } from './hidden-characters.js'
import { instructionsOf } from './instructions.js'
import { Places } from '../../transports/base/places.js'
import { isStarted, maxWanted, notKnown, signInFirst, signInTool, UpstreamLink } from './link.js'
import { type Kept, KeptLists } from './kept-lists.js'
import { type Fetched, fetchLists, whyNot } from './lists.js'
import { fits, isOfScheme } from './names.js'
import { Owners } from './owners.js'
import { pauseAfter } from './pace.js'
import {
  definitionsOf,
  type Judgement,
  judge,
  type KnownDefinitions,
  type ReadDefinition,
  readDigests,
} from './pins.js'
import { NameClaims, routeOf, type RouteTable } from './routes.js'
import { needsSignIn } from './sign-ins.js'
import { searchTools } from './tool-search.js'
import { anybody } from '../../transports/base/network.js'
import { Rota } from '../../runtime/tasks/rota.js'
import { unknownNames } from './unknown-names.js'

/** Milliseconds between two checks for idle clients, at least and at most. */
const sweepSoonest = 100
const sweepLatest = 30_000
/** Milliseconds until a client that did not start is started again, doubled each time, and at most. */
const startAgain = { first: 5_000, longest: 60_000 }
/** Names that are reported: servers make up any number. */
const maxWarned = 1_000
/** Servers that are no more, and whose addresses are kept from others. */
const maxRemoved = 10_000
/** Milliseconds between two looks at what a server lists to a user. */
const lendPause = 60_000
/**
 * Definitions of a server that are told as held back, or as having hidden characters; and of these at a time.
 */
const maxHeldTold = 1_000
const maxHeldNamed = 5
/** What becomes of what is held back. */
const accepting = 'it is offered once it is accepted'
/** Changes within this many ms are one. */
const coalesce = 5
/** Ms of work at a time. */
const piece = 10

type HeldNames = Map<string, readonly { readonly component: Component; readonly refuse: () => McpError }[]>

/** What is under way to offer what the servers have. */
interface Offering {
  readonly steps: Iterator<unknown, void>
  /** Ms of a piece of it. */
  readonly within: number
  /** Ms of it so far. */
  took: number
  /** Those who wait for its end. */
  readonly answers: readonly Deferred<void>[]
  /** Whether something has changed since it began. */
  isOutdated: boolean
  timer: TimerRef | undefined
}

/** One server behind the gateway, and its state. */
interface UpstreamState {
  entry: Upstream | StartUpstream | StartedUpstream
  readonly link: UpstreamLink
  readonly record: UpstreamRecord
  /** The client that lists what the server offers; undefined while it does not run. */
  client: Upstream | undefined
  /** Whether lists need not wait for it: its own are known, or it has failed, or its time is up. */
  isSettled: boolean
  /** Whether the engine is asked for what it had. */
  isLookedUp: boolean
  isReady: boolean
  /** Whether it cannot be reached; an idle one that was closed is not away. */
  isAway: boolean
  /** Starts that failed since it was ready. */
  failures: number
  again: TimerRef | undefined
  /** Its lists are asked for now, until this is aborted. */
  asking: AbortController | undefined
  /** Whether some of its lists have come, and others are waited for, or have failed. */
  isPartial: boolean
  /** Whether some did not come the last time. */
  isSlow: boolean
  /** Until then they are not asked for again. */
  pause: TimerRef | undefined
  /** Pauses in a row in which they have changed. */
  turns: number
  /** Whether they have changed since they were asked for, or could not be had. */
  isStale: boolean
  /** Whether they could not be had: that is why they are asked for again. */
  hasFailed: boolean
  /** What was told of that. */
  problem: string
  /** Why it was last not ready; undefined once it is. */
  reason: unknown
  /** What was told of entries that are left out. */
  leftOut: string
  undo: (() => void)[]
  /** The lists that the names in its options have been compared with. */
  checked: UpstreamLists | undefined
  /** When the client of a user was last asked for them. */
  lentAt: number
  /** What of its definitions is held back. */
  judgement: Judgement
  /** Definitions that were told: what they are of, and their digests. */
  readonly heldTold: Set<string>
}

const noLists: UpstreamLists = Object.freeze({ tools: [], resources: [], templates: [], prompts: [] })
const nothingHeld: Judgement = Object.freeze({ held: new Map(), fresh: new Map() })

interface Held {
  readonly component: Component
  /** Whose it is, and its entry: another text, another component. */
  readonly text: string
  /** Undefined: of an earlier incarnation of this actor. */
  readonly link?: UpstreamLink
  /** Those of its link that it was made with. */
  readonly options?: UpstreamOptions
  /**
   * Whether it is not offered, as its server is away or its definition is held back; its name stays its own.
   */
  readonly isHidden?: boolean
}

/** The servers behind this one: watches their clients, and offers in the catalog what they have. */
export const gatewayActor = defineActor({
  name: 'gateway',
  stray: 'report',
  init(
    { holdings, plan }: { readonly holdings: Holdings; readonly plan: GatewayPlan },
    ctx: ActorContext,
  ): Gateway {
    const gateway = new Gateway(holdings, plan, ctx)
    ctx.own(() => gateway.end())
    gateway.begin()
    ctx.sendAfter(gateway.sweepAfter, 'sweep')
    return gateway
  },
  call: {
    /** Resolves when the first lists are there, or are not to be had in time. */
    settled: (gateway, _nothing: undefined, ctx): Deferred<void> | undefined => gateway.settled(ctx),
    /** As `settled`; servers that are started by their first use are: this is one. */
    wake: (gateway, _nothing: undefined, ctx): Deferred<void> | undefined => gateway.wake(ctx),
  },
  cast: {
    sync: (gateway) => gateway.sync(),
    source: (gateway, upstreams: Upstreams) => gateway.take(upstreams),
    began: (gateway, { name, client }: { readonly name: string; readonly client: Upstream }) =>
      gateway.watch(name, client),
    /** No set of servers, which is tried again. */
    missing: (gateway, problem: string) => gateway.missing(problem),
    failed: (
      gateway,
      {
        name,
        error,
        isTeller,
      }: { readonly name: string; readonly error: unknown; readonly isTeller: boolean },
    ) => gateway.give(name, error, isTeller),
    /** What the engine has of a server that nothing was known of. */
    kept: (gateway, { name, kept }: { readonly name: string; readonly kept: Kept | undefined }) =>
      gateway.kept(name, kept),
    state: (
      gateway,
      {
        name,
        state,
        client,
      }: { readonly name: string; readonly state: Upstream['state']; readonly client: Upstream },
    ) => gateway.note(name, state, client),
    /** A client of one user that may tell what its server lists. */
    lent: (
      gateway,
      { name, client, over }: { readonly name: string; readonly client: Upstream; readonly over: () => void },
    ) => gateway.lent(name, client, over),
    borrowed: (gateway, { name, lists }: { readonly name: string; readonly lists?: UpstreamLists }) =>
      gateway.borrowed(name, lists),
    changed: (gateway, { name, client }: { readonly name: string; readonly client: Upstream }) =>
      gateway.changed(name, client),
    /** What is pinned has changed. */
    pins: (gateway) => gateway.repin(),
    /** Definitions are remembered, or are not, and why. */
    pinned: (
      gateway,
      {
        name,
        fresh,
        problem,
      }: {
        readonly name: string
        readonly fresh: Judgement['fresh']
        readonly problem: string | undefined
      },
    ) => gateway.pinned(name, fresh, problem),
    listed: (
      gateway,
      {
        name,
        asking,
        fetched,
        problem,
      }: {
        readonly name: string
        readonly asking: AbortController
        readonly fetched: Fetched | undefined
        readonly problem: string
      },
    ) => gateway.listed(name, asking, fetched, problem),
  },
  info: {
    timer(gateway, what, ctx) {
      if (what === 'late') return gateway.giveUp()
      if (what === 'put') return gateway.put()
      if (what === 'piece') return gateway.goOn()
      if (isObject(what))
        return 'again' in what ? gateway.again(String(what.again)) : gateway.paused(String(what.list))
      ctx.sendAfter(gateway.sweepAfter, 'sweep')
      return gateway.sweep()
    },
  },
})

class Gateway {
  readonly #holdings: Holdings
  readonly #plan: GatewayPlan
  readonly #ctx: ActorContext
  /** Nobody else has it. */
  readonly #id: string
  readonly #self: RefOf<typeof gatewayActor>
  /** Sends a message to itself; false once it has ended. */
  readonly #cast: RefOf<typeof gatewayActor>['cast']
  readonly #places = new Map<string, UpstreamState>()
  /** What a search finds, where tools are not listed. */
  #hidden: readonly ToolDefinition[] = []
  /** What the servers have, by kind and name. */
  #held: ReadonlyMap<string, Held> = new Map()
  /** Whose names are, and who has which address, as of the last change. */
  #claims: NameClaims
  /** Who may hear of addresses that servers have told of, until lists or options change. */
  #hearers = new Map<UpstreamLink, Map<string, ReturnType<typeof hearersAt>>>()
  /** Whether it is known which servers there are, and which of them an address is of. */
  #isRouted = false
  #table: RouteTable
  #changing: TimerRef | undefined
  /** What they have is being found out. */
  #work: Offering | undefined
  #isUrgent = false
  /** Characters of all that they have, and ms that it took to offer it last. */
  #size = 0
  #took = 0
  #upstreams: Upstreams | undefined
  #waiting: Deferred<void>[] = []
  /** Undefined where the engine ends with the program. */
  readonly #lists: KeptLists | undefined
  /** Servers that it has been asked for. */
  readonly #lookedUp = new Set<string>()
  /** Those who wait for all servers, until it is known which of them have to be started for that. */
  #wakers: Deferred<void>[] = []
  #late: TimerRef | undefined
  /** Whether nobody waits any more for the set of servers, and for one that comes into it. */
  #isLate = false
  /** Names that were reported: each once. */
  readonly #warned = new Set<string>()
  /** Definitions that were read already. */
  readonly #readings: KnownDefinitions = new WeakMap()
  /** How the addresses of what is held back may be written, by each way. */
  readonly #heldAddresses = new WeakMap<Judgement['held'], HeldAddresses>()
  /** Tools and prompts whose definitions are held back, by their names here. */
  #heldNames: HeldNames = new Map()
  #undo: (() => void)[] = []

  constructor(holdings: Holdings, plan: GatewayPlan, ctx: ActorContext) {
    this.#id = ctx.world.id()
    this.#holdings = holdings
    this.#plan = plan
    this.#ctx = ctx
    const { values, settings } = holdings
    const isKept = settings.cluster !== undefined || settings.local?.outlives === true
    if (isKept && values !== undefined)
      this.#lists = new KeptLists(values, settings.definition.info.name, lastingWorld(ctx.world))
    this.#claims = new NameClaims([], plan)
    this.#table = this.#claims.table()
    const self = ctx.self as RefOf<typeof gatewayActor>
    this.#self = self
    this.#cast = (name, ...input) => !ctx.signal.aborted && self.cast(name, ...input)
    // what an earlier incarnation has offered: it may be gone, or lead nowhere
    const left = holdings.catalog.relayed()
    this.#held = new Map(left.map((component) => [keyOf(component), { component, text: '' }]))
  }

  [describe](): string {
    const ready = [...this.#places.values()].filter(({ isReady }) => isReady).length
    return `${ready} of ${this.#places.size} servers ready`
  }

  begin(): void {
    const { source, pinned, pins } = this.#plan
    // code of the user: it does not run in here
    if (pins !== undefined) this.#undo.push(outside(() => pins.onChange(() => void this.#cast('pins'))))
    this.#waitUntilLate()
    this.#holdings.logins?.finishBy(async (name, principal, returned) => {
      const link = this.#places.get(name)?.link
      return link === undefined ? `there is no server ${name}` : link.finishLogin(principal, returned)
    })
    if (pinned !== undefined) {
      const absent = (name: string, peer: Peer) => this.#absent(name, peer)
      const ready = { wake: () => this.#awake(), absent }
      // who waits for a turn has it also when this actor ends
      const world = lastingWorld(this.#ctx.world)
      const tools = searchTools(() => this.#hidden, ready, new Rota(world, anybody), world)
      const former = tools.map(({ kind, name }) => [kind, name] as const)
      this.#holdings.catalog.swap(former, tools)
    }
    // until it is known which servers there are, what an earlier incarnation has found stays
    if (typeof source !== 'function' || !this.#holdings.catalog.isExtended) this.#extend()
    if (typeof source === 'function') return this.#start(source)
    if (isUpstreams(source)) this.take(source)
    else for (const [name, entry] of Object.entries(source)) this.#add(name, entry)
    // what an earlier incarnation has found out
    return this.put()
  }

  get sweepAfter(): number {
    const idles = [...this.#places.values()].map(({ link }) => link.idle)
    return Math.max(sweepSoonest, Math.min(sweepLatest, ...idles))
  }

  end(): void {
    for (const undo of this.#undo) undo()
    this.#lists?.end()
    // whoever started them, ends them
    if (typeof this.#plan.source === 'function') this.#upstreams?.close().catch(() => {})
    for (const place of this.#places.values()) leave(place)
  }

  settled(ctx: ActorContext): Deferred<void> | undefined {
    const reply = ctx.defer<void>()
    this.#waiting.push(reply)
    this.#settle()
    return reply
  }

  /** Starts servers of which nothing is known, and waits for their lists. */
  wake(ctx: ActorContext): Deferred<void> | undefined {
    if (!this.#isLookingUp) {
      this.#wakeAll()
      return this.settled(ctx)
    }
    const reply = ctx.defer<void>()
    this.#wakers.push(reply)
    return reply
  }

  #wakeAll(): void {
    const asleep = [...this.#places.values()].filter(isAsleep)
    for (const place of asleep) {
      place.isSettled = false
      place.link.begin()
    }
    if (asleep.length > 0) this.#waitUntilLate()
  }

  /** What a server had when this program ran last is offered until it tells what it has. */
  kept(name: string, kept: Kept | undefined): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    const { link, record, isLookedUp } = place
    place.isLookedUp = false
    // what one user was listed is for all as long as the option says so
    const isGood = kept !== undefined && (!kept.isOfUser || link.isShared)
    if (isGood && record.lists === undefined) {
      record.lists = kept.lists
      record.server ??= kept.server
      place.isSettled = true
      this.#change()
    }
    if (link.isLazy) place.isSettled = true
    if (isLookedUp) this.#lookedAll()
    this.#settle()
  }

  /** It never rejects, and `kept` says what comes of it. */
  #lookUp(name: string): void {
    void this.#lists?.read(name).then((kept) => void this.#cast('kept', { name, kept }))
  }

  /** For the next run, and for other nodes. */
  #keep({ link: { name }, record: { server, lists } }: UpstreamState, isOfUser: boolean): void {
    if (server !== undefined && lists !== undefined) this.#lists?.save(name, { server, lists, isOfUser })
  }

  /** Whoever waited for that goes on. */
  #lookedAll(): void {
    if (this.#isLookingUp || this.#wakers.length === 0) return
    this.#wakeAll()
    this.#waiting.push(...this.#wakers.splice(0))
    this.#settle()
  }

  giveUp(): void {
    this.#isLate = true
    for (const place of this.#places.values()) Object.assign(place, { isSettled: true, isLookedUp: false })
    this.#waiting.push(...this.#wakers.splice(0))
    this.#settle()
  }

  sweep(): void {
    for (const { link, asking } of this.#places.values()) if (asking === undefined) link.sweep()
  }

  /** A set of clients, in which they come and go. */
  take(upstreams: Upstreams): void {
    // of a set that was there before, this has been looked at
    const names = typeof this.#plan.source === 'function' ? upstreams.names : undefined
    const problem = unknownServer(this.#plan.servers, names)
    if (problem !== undefined) {
      // a misspelled name would offer what the option was to hide
      this.#tell('unknown_name', '', `${problem.message}: nothing is offered until that is mended`)
      upstreams.close().catch(() => {})
      return
    }
    this.#upstreams = upstreams
    this.#undo.push(upstreams.onState(() => void this.#cast('sync')))
    this.sync()
  }

  sync(): void {
    const { names = [] } = this.#upstreams ?? {}
    for (const name of [...this.#places.keys()]) if (!names.includes(name)) this.#remove(name)
    for (const name of names) {
      const entry = this.#upstreams?.get(name)
      const place = this.#places.get(name)
      // another one may have taken its name meanwhile: what it offers stays until that one tells
      if (entry === undefined || place?.entry === entry) continue
      if (place !== undefined && isSameServer(place.entry, entry)) this.#adopt(place, entry)
      else this.#add(name, entry, place)
    }
    this.#settle()
  }

  /** The client that tells what a server offers. */
  watch(name: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    // what is known already is reported once
    const changed = (): void =>
      void ((place.isStale && !place.isPartial) || this.#cast('changed', { name, client }))
    const state = (): void => void this.#cast('state', { name, state: client.state, client })
    for (const undo of place.undo.splice(0)) undo()
    stopAsking(place)
    Object.assign(place, { client, isReady: false, isStale: false })
    place.undo = [
      client.onState(state),
      client.onNotification('notifications/tools/list_changed', changed),
      client.onNotification('notifications/resources/list_changed', changed),
      client.onNotification('notifications/prompts/list_changed', changed),
      client.onNotification('notifications/resources/updated', ({ uri }) => place.link.updated(String(uri))),
      client.onNotification('notifications/message', (params) => place.link.log(params)),
      client.onNotification('notifications/elicitation/complete', ({ elicitationId }) =>
        place.link.visited(String(elicitationId)),
      ),
    ]
    this.note(name, client.state, client)
  }

  missing(problem: string): void {
    this.#tell('not_started', '', `${problem}: it is started again in ${startAgain.first} ms`)
    this.#ctx.sendAfter(startAgain.first, { again: '' })
  }

  /** One of its clients could not be started. */
  give(name: string, error: unknown, isTeller: boolean): void {
    const place = this.#places.get(name)
    if (place !== undefined && isTeller) place.reason = error
    const wait = place !== undefined && isTeller ? this.#later(place) : undefined
    this.#tell(
      'not_started',
      name,
      `${messageOf(error)}: it is started again ${wait === undefined ? 'by the next call' : `in ${wait} ms`}`,
    )
    this.#settle()
  }

  again(name: string): void {
    const { source } = this.#plan
    if (name === '') return this.#isPending && typeof source === 'function' ? this.#start(source) : undefined
    const place = this.#places.get(name)
    if (place === undefined) return
    const { entry, client } = place
    place.again = undefined
    // another node may have had a user who can list it
    if (place.record.lists === undefined) this.#lookUp(name)
    if (!isUpstream(entry)) return place.link.begin()
    // its state says what comes of it
    if (client?.state.phase === 'failed') outside(() => void client.reconnect?.().catch(() => {}))
  }

  note(name: string, { phase, reason }: Upstream['state'], client: Upstream): void {
    const place = this.#places.get(name)
    if (place?.client !== client) return
    const { link } = place
    place.isReady = phase === 'ready'
    // a new client has no reason yet: that of the one before holds until it is ready
    if (phase === 'ready' || reason !== undefined) place.reason = reason
    if (phase === 'ready') {
      place.isAway = false
      place.failures = 0
      link.ready(client)
      if (place.hasFailed) rest(place)
      this.ask(name, client)
    } else if (phase === 'failed' || phase === 'closed') {
      if (needsSignIn(reason) && link.wantsLists)
        this.#tellOnce(`lists of ${name}`, 'not_listed', name, ownLists)
      this.#end(place, client)
    } else if (reason !== undefined) place.isAway = place.isSettled = true
    if (link.options.whileAway === 'hide') this.#change()
    this.#settle()
  }

  /** Some list of a server is another now: one that fails, or does not come, must not hold up the news of it. */
  changed(name: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place?.client !== client) return
    if (place.isPartial && place.pause !== undefined) {
      rest(place)
      Object.assign(place, { isPartial: false, isStale: true, hasFailed: false })
      place.pause = this.#ctx.sendAfter(this.#pauseFor(place), { list: name })
      return
    }
    if (place.isPartial) stopAsking(place)
    this.ask(name, client)
  }

  /** Asks a server for its lists; again, after a pause, if they change meanwhile. */
  ask(name: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place?.client !== client || !place.isReady) return
    if (place.asking !== undefined || place.pause !== undefined) {
      place.isStale = true
      return
    }
    const asking = new AbortController()
    Object.assign(place, { asking, isPartial: false, isStale: false, hasFailed: false })
    const { signal } = asking
    const tell = (fetched: Fetched | undefined, problem = ''): void =>
      void (signal.aborted || this.#cast('listed', { name, asking, fetched, problem }))
    const { link, record } = place
    const { clock } = this.#ctx
    const { needsTemplates } = link
    const how = {
      ...{ gateway: this.#id, signal, former: record.lists, needsTemplates, clock },
      ...{ isSlow: place.isSlow, onSome: tell },
    }
    fetchLists(client, how).then(tell, (error: unknown) => tell(undefined, whyNot(error)))
  }

  /** What a server lists to one user is for all, where nobody's client is let in. */
  lent(name: string, client: Upstream, over: () => void): void {
    const place = this.#places.get(name)
    const { now } = this.#ctx.clock
    if (place === undefined || place.isReady || now() - place.lentAt < lendPause) return outside(over)
    place.lentAt = now()
    const { link, record } = place
    record.server = client.server
    const { signal, clock } = this.#ctx
    const tell = (fetched: Fetched | undefined): void =>
      void (fetched !== undefined && this.#cast('borrowed', { name, lists: fetched.lists }))
    const { needsTemplates } = link
    const how = { gateway: this.#id, signal, former: record.lists, needsTemplates, clock, onSome: tell }
    outside(() => {
      const fetching = fetchLists(client, how).then(tell, () => this.#cast('borrowed', { name }))
      void fetching.finally(over)
    })
  }

  /** Undefined: the client of that user could not tell them, and another one may. */
  borrowed(name: string, lists: UpstreamLists | undefined): void {
    const place = this.#places.get(name)
    if (place === undefined || place.isReady) return
    if (lists === undefined) {
      place.lentAt = Number.NEGATIVE_INFINITY
      return
    }
    place.record.lists = lists
    place.isSettled = true
    this.#keep(place, true)
    this.#change()
    this.#settle()
  }

  /** Its lists may be asked for again: at once, if they have changed. */
  paused(name: string): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    place.pause = undefined
    place.turns = place.isStale ? place.turns + 1 : 0
    // what fails again because of a change is not told again
    if (place.hasFailed) place.problem = ''
    if (place.isStale && place.client !== undefined) this.ask(name, place.client)
  }

  listed(name: string, asking: AbortController, fetched: Fetched | undefined, problem: string): void {
    const place = this.#places.get(name)
    if (place?.asking !== asking) return
    place.isSettled = true
    if (fetched !== undefined) {
      const { lists, leftOut } = fetched
      const { record } = place
      record.lists = lists
      if (fetched.isWhole) this.#keep(place, false)
      this.#change()
      // a server that tells of changes often does not tell of the same fault each time
      if (leftOut !== '' && leftOut !== place.leftOut) this.#tell('not_listed', name, `left out: ${leftOut}`)
      place.leftOut = leftOut
    }
    if (fetched?.isWhole === false) {
      place.isPartial = place.isSlow = true
      this.#tellOf(place, fetched.problem, '')
      // they have changed meanwhile: what does not come is asked for anew, with all others
      if (place.isStale) {
        stopAsking(place)
        place.pause = this.#ctx.sendAfter(this.#pauseFor(place), { list: name })
      }
      return this.#settle()
    }
    place.asking = undefined
    place.isSlow = false
    let wait = this.#pauseFor(place)
    const missing = fetched === undefined ? problem : fetched.problem
    if (missing !== '' && place.isReady) {
      // a server whose lists cost much to refuse costs less and less
      wait = Math.max(backoff(startAgain, place.turns), wait)
      Object.assign(place, { isStale: true, hasFailed: true, isPartial: fetched !== undefined })
      this.#tellOf(place, missing, `: they are asked for again in ${wait} ms`)
    } else if (missing === '') place.problem = ''
    place.pause = this.#ctx.sendAfter(wait, { list: name })
    this.#settle()
  }

  /** Of lists that could not be had: the same only once, unless they were asked for again for that reason. */
  #tellOf(place: UpstreamState, problem: string, end: string): void {
    if (problem !== place.problem) this.#tell('not_listed', place.link.name, `${problem}${end}`)
    place.problem = problem
  }

  /** A server whose lists cost much is asked for them seldom: a twentieth of the time goes into them. */
  #pauseFor({ turns }: UpstreamState): number {
    return Math.max(pauseAfter(this.#size, turns), 20 * this.#took)
  }

  /** Other options of the same server: its clients, and the calls under way, go on. */
  #adopt(place: UpstreamState, entry: StartedUpstream): void {
    place.entry = entry
    place.link.adopt(entry, this.#optionsOf(place.link.name, entry))
    place.checked = undefined
    if (!place.link.isLazy) place.link.begin()
    this.#changeAnew()
  }

  #optionsOf(name: string, entry: UpstreamState['entry']): UpstreamOptions {
    return this.#plan.servers.get(name) ?? ('options' in entry ? entry.options : undefined) ?? {}
  }

  #add(name: string, entry: Upstream | StartUpstream | StartedUpstream, former?: UpstreamState): void {
    const { world } = this.#ctx
    if (former !== undefined) leave(former)
    const record = this.#recordOf(name)
    const link = new UpstreamLink({
      name,
      record,
      entry: typeof entry === 'function' ? { start: entry } : entry,
      options: this.#optionsOf(name, entry),
      requestTimeout: this.#holdings.settings.timeouts.request,
      startTimeout: this.#plan.startTimeout,
      world,
      began: (client) => void this.#cast('began', { name, client }),
      failed: (error, isTeller) => void this.#cast('failed', { name, error, isTeller }),
      lent: (client, over = () => {}) => {
        if (!this.#cast('lent', { name, client, over })) over()
      },
      logins: this.#holdings.logins,
      resourceUpdated: (uri, own) => this.#tellUpdate(name, uri, own),
    })
    const isLookedUp = this.#lists !== undefined && record.lists === undefined && !this.#lookedUp.has(name)
    const place: UpstreamState = {
      entry,
      link,
      record,
      client: undefined,
      isSettled: !isLookedUp && (link.isLazy || record.lists !== undefined || this.#isLate),
      isLookedUp,
      isReady: false,
      isAway: false,
      failures: 0,
      again: undefined,
      asking: undefined,
      isPartial: false,
      isSlow: false,
      pause: undefined,
      turns: 0,
      isStale: false,
      hasFailed: false,
      problem: '',
      reason: undefined,
      leftOut: '',
      undo: [],
      checked: undefined,
      lentAt: Number.NEGATIVE_INFINITY,
      judgement: former?.judgement ?? nothingHeld,
      heldTold: new Set(),
    }
    this.#places.set(name, place)
    this.#lookedUp.add(name)
    if (isLookedUp) this.#lookUp(name)
    if (isUpstream(entry)) this.watch(name, entry)
    else if (!link.isLazy || record.wanted.size > 0) link.begin()
    this.#changeAnew()
  }

  #recordOf(name: string): UpstreamRecord {
    const { upstreams } = this.#holdings
    const record = upstreams.get(name) ?? {
      server: undefined,
      lists: undefined,
      wanted: new Map(),
      places: new Places(maxWanted),
      wasReady: false,
      unwant: () => {},
    }
    upstreams.set(name, record)
    return record
  }

  #remove(name: string): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    const { removed } = this.#holdings
    if (removed.size < maxRemoved) removed.add(this.#claims.qualifierOf(name))
    this.#places.delete(name)
    leave(place)
    const { record } = place
    Object.assign(record, { server: undefined, lists: undefined, unwant: () => {} })
    // who wants to hear of its resources still does when it comes back
    if (record.wanted.size === 0) this.#holdings.upstreams.delete(name)
    this.#changeAnew()
  }

  /** Its client will never be ready again: it has failed, or was idle. */
  #end(place: UpstreamState, client: Upstream): void {
    const { entry, link } = place
    place.isSettled = true
    const hasFailed = link.over(client)
    // a server that lets in users alone is there
    if (hasFailed || isUpstream(entry)) place.isAway = !needsSignIn(place.reason)
    if (hasFailed || (isUpstream(entry) && client.state.phase === 'failed')) this.#later(place)
    if (isUpstream(entry)) return
    for (const undo of place.undo.splice(0)) undo()
    stopAsking(place)
    Object.assign(place, { client: undefined, isStale: false })
  }

  /** Starts its client again, and answers in how many ms; undefined: the next call does. */
  #later(place: UpstreamState): number | undefined {
    place.isSettled = true
    if (place.link.isLazy) return undefined
    const wait = backoff(startAgain, place.failures)
    if (place.again !== undefined) return wait
    place.failures += 1
    place.again = this.#ctx.sendAfter(wait, { again: place.link.name })
    return wait
  }

  #waitUntilLate(): void {
    this.#late?.cancel()
    this.#late = this.#ctx.sendAfter(this.#plan.startTimeout, 'late')
  }

  /** Resolves when all is known and offered, or is not to be had in time; undefined when it is. Never rejects. */
  #awake(): Promise<void> | undefined {
    const isOffered = this.#changing === undefined && this.#work === undefined
    if (isOffered && this.#isSettled && ![...this.#places.values()].some(isAsleep)) return undefined
    const timeout = this.#plan.startTimeout + 1_000
    return this.#self.call('wake', undefined, { timeout }).catch(() => {})
  }

  /** Code of the user: it does not run in here. */
  #start(source: Extract<GatewayPlan['source'], (...args: never) => unknown>): void {
    const { signal } = this.#ctx
    const answers = (name?: string) => this.#answersFor(String(name))
    const none = (): never => {
      throw new TypeError('login, token: expected servers by their names, each with start and auth')
    }
    const seat = { answers, principal: undefined, session: undefined, signal, login: none, token: none }
    // not in the scope of this actor: what goes wrong in there is not its fault
    outside(async () => source(seat))
      .then((upstreams) => {
        if (!isUpstreams(upstreams))
          throw new TypeError(`expected what startClients returns, got ${show(upstreams)}`)
        // it may have ended meanwhile
        if (!this.#cast('source', upstreams)) return upstreams.close()
        return undefined
      })
      .catch((error) => void this.#cast('missing', messageOf(error)))
  }

  /** The server may ask before its place is here. */
  #answersFor(name: string): ReturnType<UpstreamLink['answersFor']> {
    const of = (): ReturnType<UpstreamLink['answersFor']> => {
      const link = this.#places.get(name)?.link
      if (link === undefined) throw new Error(`${name} is not known yet`)
      return link.answersFor('')
    }
    return {
      onElicit: {
        form: async (params, ctx) => of().onElicit.form(params, ctx),
        url: async (params, ctx) => of().onElicit.url(params, ctx),
      },
      onSample: { run: async (params, ctx) => of().onSample.run(params, ctx), tools: true, context: true },
      roots: async (ctx) => (this.#places.has(name) ? of().roots(ctx) : ([] as never)),
    }
  }

  /** Soon: what several servers tell at once is one change. */
  #change(): void {
    this.#changing ??= this.#ctx.sendAfter(coalesce, 'put')
  }

  /**
   * As `#change`, by another configuration or other pins. What is under way is of those before, and nobody may
   * go on by them for longer than it takes: that is not done in pieces.
   */
  #changeAnew(): void {
    const { answers = [], timer } = this.#work ?? {}
    timer?.cancel()
    this.#waiting.unshift(...answers)
    this.#work = undefined
    this.#isUrgent = true
    this.#change()
  }

  /**
   * Offers what the servers have. Names stay with who has them; new ones go to the first in the configuration.
   * That may be much: it is found out in pieces, for the whole time of which what was offered before is.
   */
  put(): void {
    this.#changing?.cancel()
    this.#changing = undefined
    if (this.#work !== undefined) {
      this.#work.isOutdated = true
      return
    }
    const answers = this.#isSettled ? this.#waiting.splice(0) : []
    const within = this.#isUrgent ? Number.POSITIVE_INFINITY : piece
    this.#isUrgent = false
    this.#work = { steps: this.#offer(), within, took: 0, answers, isOutdated: false, timer: undefined }
    this.goOn()
  }

  /** One piece of it. */
  goOn(): void {
    const work = this.#work
    if (work === undefined) return
    const { world } = this.#ctx
    const [began, used] = [world.now(), world.cpu()]
    let isOver = false
    while (!isOver && world.now() - began < work.within) isOver = work.steps.next().done === true
    if (isOver) this.#moveWants()
    // what the machine did meanwhile for others costs the servers no pause
    work.took += Math.min(world.now() - began, world.cpu() - used)
    if (!isOver) {
      work.timer = this.#ctx.sendAfter(1, 'piece')
      return
    }
    this.#work = undefined
    this.#took = work.took
    for (const reply of work.answers) reply.resolve()
    if (work.isOutdated) this.#change()
  }

  /** A server tells of a change at an address, which is `own` there. */
  #tellUpdate(name: string, uri: string, own = uri): void {
    const link = this.#places.get(name)?.link
    if (link === undefined) return
    const mayHear = this.#hearersOf(link, own)
    if (mayHear !== false) this.#base?.cast('relayed', { uri, mayHear })
  }

  /** Found out once for each address: a server may tell of thousands ten times a second. */
  #hearersOf(link: UpstreamLink, own: string): ReturnType<typeof hearersAt> {
    if (this.#places.get(link.name)?.judgement.held.has(`resource ${own}`) === true) return false
    if (!isRuled(link)) return undefined
    const known = this.#hearers.get(link) ?? new Map<string, ReturnType<typeof hearersAt>>()
    this.#hearers.set(link, known)
    if (known.has(own)) return known.get(own)
    const routed = this.#table.servers.find((server) => server.name === link.name)
    const { templates: all, uris } = routed ?? { templates: [], uris: new Set<string>() }
    const templates = all.filter(({ matcher }) => matcher?.match(own) !== undefined)
    const mayHear = hearersAt({ link, uri: own, all, templates, isListed: uris.has(own), isLikely: true })
    known.set(own, mayHear)
    return mayHear
  }

  get #base(): RefOf<typeof baseActor> | undefined {
    const { names } = this.#holdings.settings
    return this.#ctx.registry.whereis(names.base) as RefOf<typeof baseActor> | undefined
  }

  /** Whoever wants to hear of a resource of a server that is no more hears of it from who has its address now. */
  #moveWants(): void {
    const { catalog, upstreams } = this.#holdings
    for (const [name, { wanted }] of upstreams) {
      const isBack = this.#places.has(name)
      for (const { listed, moved } of wanted.values())
        for (const uri of isBack ? moved.keys() : listed.keys()) {
          const move = moved.get(uri)
          const found = catalog.find(uri)
          const owner = found && componentIn(found).relayed
          if (owner?.isUnsure === true) continue
          if (isBack) {
            // it may have lost the address meanwhile
            if ((owner?.server ?? name) !== name) continue
            moved.delete(uri)
            move?.undo()
          } else {
            // one that nobody lists may be in a list by now
            if (found === undefined || (move !== undefined && move.to === owner?.server)) continue
            const undo = catalog.wantFound(found, itself) ?? (() => {})
            move?.undo()
            moved.set(uri, { to: owner?.server, undo })
          }
          // it may have changed meanwhile
          this.#base?.cast('relayed', { uri, mayHear: undefined })
        }
    }
  }

  /** Of a resource whose server is not known yet: a session comes back with it before the servers do. */
  #wantLater(uri: string): () => void {
    const { wanted } = this.#recordOf(nobody)
    const resource = wanted.get(uri) ?? { listed: new Map(), moved: new Map(), caller: nobody }
    wanted.set(uri, resource)
    resource.listed.set(uri, (resource.listed.get(uri) ?? 0) + 1)
    return () => {
      const left = (resource.listed.get(uri) ?? 0) - 1
      resource.listed.set(uri, left)
      if (left > 0) return
      resource.moved.get(uri)?.undo()
      if (wanted.get(uri) === resource) wanted.delete(uri)
    }
  }

  *#offer(): Generator<unknown, void> {
    const { separator, prefix, pinned } = this.#plan
    const { catalog, settings } = this.#holdings
    // what an earlier incarnation has left stays until it is known which servers there are
    if (this.#isPending) return
    const places = new Map(this.#places)
    const held = new Map<string, Held>()
    const heldNames: HeldNames = new Map()
    const { removed } = this.#holdings
    const renames = [...places].map(([name, { link }]) => [name, link.options] as const)
    const claims = new NameClaims(
      [...places.keys()],
      { separator, prefix, servers: new Map(renames) },
      removed,
    )
    // those that are back speak for themselves
    for (const name of places.keys()) removed.delete(claims.qualifierOf(name))
    const lists = [...places].flatMap(([name, { record }]) =>
      record.lists === undefined ? [] : [[name, record.lists] as const],
    )
    const owners = new Owners(this.#holdings.owners, new Map(lists))
    let size = 0
    for (const place of places.values()) {
      const { link, isAway } = place
      // they may be others before all is found out
      const { lists } = link
      const { lists: all = noLists } = place.record
      place.judgement = yield* this.#judge(place, all)
      if (lists === undefined) continue
      const isGone = isAway && link.options.whileAway === 'hide'
      const isTaken = (kind: Component['kind'], key: string, own: string): boolean => {
        const whole = `${kind} ${key}`
        const isHeld = held.has(whole) || (!this.#held.has(whole) && catalog.has(kind, key))
        if (isHeld || owners.isOfAnother(kind, key, link.name, own)) return true
        return claims.isOfAnother(kind, key, { server: link.name, own })
      }
      const hasTasks = settings.tasks !== undefined
      const qualifier = claims.qualifierOf(link.name)
      const unnamed = (kind: 'tool' | 'prompt', own: string): void =>
        this.#tellOnce(
          `${kind} ${own} of ${link.name}`,
          'not_listed',
          link.name,
          `left out: ${kind} ${show(own)}: its names here begin like those of another server: give it one with rename`,
        )
      const setting = { separator, prefix, hasTasks, qualifier, isTaken, unnamed }
      link.filter.renew()
      const components = yield* componentsOf(link, lists, setting)
      const { unjudged } = link.filter
      if (unjudged > 0)
        this.#tellOnce(
          `addresses of ${link.name}`,
          'not_listed',
          link.name,
          `left out: ${unjudged} entries: with those before them they can be read in too many ways for deny`,
        )
      for (const component of components) {
        yield
        const { kind, relayed, scopes } = component
        const what = `${kind} ${relayed?.own}`
        const why = place.judgement.held.get(what)
        if (why !== undefined && (kind === 'tool' || kind === 'prompt')) {
          const refuse = (): McpError => this.#heldError(link.name, what, why)
          const others = heldNames.get(nameIn(component)) ?? []
          heldNames.set(nameIn(component), [...others, { component, refuse }])
        }
        const isHidden = isGone || why !== undefined
        const text = JSON.stringify([link.name, relayed?.own, relayed?.entry, relayed?.through, scopes])
        size += text.length
        const known = this.#held.get(keyOf(component))
        const isSame =
          known?.text === text &&
          known.link === link &&
          known.options === link.options &&
          known.isHidden === isHidden
        held.set(
          keyOf(component),
          isSame ? known : { component, text, link, options: link.options, isHidden },
        )
      }
      for (const component of components) yield owners.add(keyOf(component), ownerOf(component, link.name))
      const templates = routedTemplates(lists, components)
      claims.add(link.name, templates, components)
      if (place.checked !== lists)
        for (const unknown of unknownNames(link.options, lists, templates)) this.#warn(link.name, unknown)
      place.checked = lists
    }
    const isFound = ({ component: { kind, name } }: Held): boolean =>
      kind === 'tool' && pinned !== undefined && !fits(name, pinned)
    const isListed = (each: Held): boolean => !each.isHidden && !isFound(each)
    yield
    const gone = [...this.#held].filter(([key, each]) => held.get(key) !== each && isListed(each))
    const come = [...held].filter(([key, each]) => this.#held.get(key) !== each && isListed(each))
    // from here on it is one step: nobody sees a half of it
    this.#isRouted = true
    this.#hearers = new Map()
    this.#heldNames = heldNames
    this.#size = size
    this.#held = held
    this.#hidden = [...held.values()]
      .filter((each) => !each.isHidden && isFound(each))
      .map(({ component }) => component as ToolDefinition)
    this.#claims = claims
    this.#table = claims.table(owners.entries.keys())
    // as long as servers are waited for, the order of the configuration decides
    if (this.#isSettled) this.#holdings.owners = new Map([...owners.entries].filter(([key]) => held.has(key)))
    const isWhole = [...places.values()].every(({ record }) => record.lists?.toolsKnown === true)
    const tools = [...held.values()].flatMap(({ component: { kind, name } }) =>
      kind === 'tool' ? [name] : [],
    )
    for (const name of isWhole && pinned !== undefined ? pinned : [])
      if (!tools.some((tool) => fits(tool, [name])))
        this.#warn(
          '',
          `toolSearch.pinned: ${show(name)} fits no tool${didYouMean(name, tools)}, so it does nothing`,
        )
    this.#extend()
    if (gone.length + come.length === 0) return
    catalog.swap(
      gone.map(([, { component }]) => [component.kind, nameIn(component)]),
      come.map(([, { component }]) => component),
    )
    this.#base?.cast('changed')
  }

  #extend(): void {
    const { catalog, settings } = this.#holdings
    const links = [...this.#places.values()].map(({ link }) => link)
    const own = settings.definition.instructions
    const { sections, cuts } = instructionsOf(
      [...this.#places].flatMap(([name, { link, judgement }]) => {
        const instructions = judgement.held.has('instructions') ? undefined : link.server?.instructions
        return instructions === undefined ? [] : [[name, instructions] as const]
      }),
    )
    for (const name of cuts)
      this.#tellOnce(`instructions of ${name}`, 'not_listed', name, 'its instructions are too long, and cut')
    const ruled = new Map(links.filter(isRuled).map(({ name }) => [name, [] as Component[]]))
    for (const { component, link } of this.#held.values()) ruled.get(link?.name ?? '')?.push(component)
    const instructionsFor = (isTold: (name: string) => boolean): string | undefined => {
      const told = [...sections].flatMap(([name, text]) => (isTold(name) ? [text] : []))
      const all = [...(own === undefined ? [] : [own]), ...told].join('\n\n')
      return all === '' ? undefined : all
    }
    const forAll = instructionsFor((name) => !ruled.has(name))
    catalog.extend({
      // of a server of which a caller sees nothing it hears nothing
      instructionsFor: (peer) =>
        ruled.size === 0
          ? forAll
          : instructionsFor((name) => ruled.get(name)?.some((each) => isAllowed(peer, each)) ?? true),
      find: (uri) => this.#find(uri),
      absent: (name, peer) => this.#absent(name, peer),
      gateway: this.#id,
      wake: () => this.#awake(),
      mayComplete: [...this.#places.values()].some(
        ({ link, record, isSettled }) => record.lists === undefined && (link.isLazy || !isSettled),
      ),
    })
  }

  /**
   * Why a tool or a prompt of that name may exist, though it is unlisted: its server has not listed its own
   * yet, or its definition is held back.
   */
  #absent(name: string, peer: Peer): McpError | undefined {
    const refused = this.#heldNames.get(name)?.find(({ component }) => isAllowed(peer, component))
    if (refused !== undefined) return refused.refuse()
    if (this.#isPending) return notKnown(this.#holdings.settings.definition.info.name)
    const owner = this.#claims.ownerOf(name)
    const unknown = [...this.#places].filter(([, { record }]) => record.lists?.toolsKnown !== true)
    // without the names of servers in them, names may be of any
    const [found] = unknown.filter(
      ([server]) => server === owner || (owner === undefined && !this.#plan.prefix),
    )
    if (found?.[1].link.isSignIn(signInTool) === true) return signInFirst(found[0])
    return found && notKnown(found[0], found[1].reason)
  }

  /** What is at an address that is not listed, or is listed of a server that is away. */
  #find(uri: string): ResourceMatch | undefined {
    const wantLater = (wanted: string): (() => void) => this.#wantLater(wanted)
    if (!this.#isRouted) return pendingAt(uri, this.#holdings.settings.definition.info.name, wantLater)
    const { step, aims } = routeOf(this.#table, uri)
    const isListed = step === 'exact' || step === 'qualified'
    const known = aims.flatMap(({ server, ...aim }): LinkAim[] => {
      const link = this.#places.get(server)?.link
      // of all, those are asked that have resources, or may have some
      const isAsked = step !== 'unlisted' || link?.mayHaveResources
      return link === undefined || !isAsked ? [] : [{ ...aim, link, isListed }]
    })
    const open = known.filter((aim) => this.#whyHeld(aim) === undefined)
    const [closed] = known
    if (closed !== undefined && open.length === 0) {
      const [what, why] = this.#whyHeld(closed) ?? ['', '']
      return heldAt(uri, closed.link, () => this.#heldError(closed.link.name, what, why), wantLater)
    }
    const templateAt = (listed: string): Component | undefined => {
      const found = this.#held.get(`resourceTemplate ${listed}`)
      return found?.isHidden === true ? undefined : found?.component
    }
    return foundAt(uri, open, this.#id, templateAt, wantLater)
  }

  /** What is held back that is at an address, and why: a resource, or each template that fits. */
  #whyHeld({
    link,
    uri,
    templates,
    isListed,
  }: Omit<LinkAim, 'isLikely'>): readonly [string, string] | undefined {
    const mode = link.options.pin ?? this.#plan.pin
    if (mode === 'strict' && !isListed && templates.length === 0)
      return [`resource ${uri}`, 'is in no list that was accepted']
    const held = this.#places.get(link.name)?.judgement.held ?? nothingHeld.held
    if (held.size === 0) return undefined
    const resource = held.get(`resource ${uri}`)
    if (resource !== undefined) return [`resource ${uri}`, resource]
    // a server may read another way of writing it as the same
    const known = this.#heldAddresses.get(held) ?? heldAddresses(held)
    this.#heldAddresses.set(held, known)
    const spelling = known.find(uri, {
      fitsTemplate: templates.length > 0,
      // nor can one of a scheme that the server does not list, which may take no notice of it
      isReadable: () => isOfScheme(uri, link.schemes),
      isListed: () => link.lists?.resources.some((entry) => entry.uri === uri) === true,
    })
    if (spelling !== undefined) return spelling
    const whys = templates.map(({ own }) => [`resourceTemplate ${own}`, held.get(`resourceTemplate ${own}`)])
    const [first] = whys
    const areAll = first !== undefined && whys.every(([, why]) => why !== undefined)
    return areAll ? (first as [string, string]) : undefined
  }

  repin(): void {
    this.#changeAnew()
  }

  pinned(name: string, fresh: Judgement['fresh'], problem: string | undefined): void {
    if (problem !== undefined) {
      this.#tell('not_pinned', name, `its definitions are pinned until the end only: ${visible(problem)}`)
      return
    }
    // from now on its place says what is accepted: another node may have been first
    const own = this.#holdings.pinned.get(name)
    for (const key of fresh.keys()) own?.delete(key)
    if (own?.size === 0) this.#holdings.pinned.delete(name)
    this.#change()
  }

  /** What of a server is held back, by what is pinned now; remembers what is new. */
  *#judge({ link, record }: UpstreamState, lists: UpstreamLists): Generator<unknown, Judgement> {
    const { name, options } = link
    const { pins } = this.#plan
    const mode = options.pin ?? this.#plan.pin
    const definitions = yield* definitionsOf(lists, record.server?.instructions, this.#readings)
    const place = this.#places.get(name)
    if (mode === false) {
      for (const [key, all] of definitions)
        for (const definition of all) {
          const { hidden } = definition
          if (hidden.length > 0 && place !== undefined && isNews(place, `${key} ${definition.digest}`))
            this.#tell(
              'hidden_characters',
              name,
              `${visible(key)} has hidden characters: ${hidden.join('; ')}`,
            )
          yield
        }
      return nothingHeld
    }
    yield* readDigests(definitions)
    const { accepted, problem } = this.#pinnedOf(name)
    if (accepted === undefined) {
      const all = (why: string): ReadonlyMap<string, string> =>
        new Map([...definitions.keys()].map((key) => [key, why]))
      if (place !== undefined) this.#tellHeld(place, definitions, all(`cannot be judged: ${problem}`))
      // the problem may say where files are: callers need not know
      return { held: all('cannot be judged'), fresh: new Map() }
    }
    const judgement = judge(definitions, accepted, mode)
    if (place !== undefined) this.#tellHeld(place, definitions, judgement.held)
    const { fresh } = judgement
    if (fresh.size === 0) return judgement
    const own = this.#holdings.pinned.get(name) ?? new Map<string, string>()
    for (const [key, { digest }] of fresh) own.set(key, digest)
    this.#holdings.pinned.set(name, own)
    if (pins === undefined) return judgement
    const tell = (problem?: string): void => void this.#cast('pinned', { name, fresh, problem })
    outside(async () => pins.add(name, fresh)).then(
      () => tell(),
      (error: unknown) => tell(messageOf(error)),
    )
    return judgement
  }

  /** The digests that are accepted of a server; without them where they cannot be had. */
  #pinnedOf(name: string): {
    readonly accepted: ReadonlyMap<string, string> | undefined
    readonly problem: string
  } {
    const own = this.#holdings.pinned.get(name) ?? []
    try {
      const kept = outside(() => this.#plan.pins?.of(name)) ?? []
      return { accepted: new Map([...own, ...kept]), problem: '' }
    } catch (error) {
      return { accepted: undefined, problem: visible(messageOf(error)) }
    }
  }

  /** Each definition once. */
  #tellHeld(
    place: UpstreamState,
    definitions: ReadonlyMap<string, readonly ReadDefinition[]>,
    held: Judgement['held'],
  ): void {
    const { name } = place.link
    const news = [...held].filter(([key]) => {
      const digests = definitions.get(key)?.map(({ digest }) => digest) ?? []
      return isNews(place, `${key} ${digests.join(' ')}`)
    })
    if (news.length === 0) return
    const some = news.slice(0, maxHeldNamed).map(([key, why]) => `${visible(key)} ${why}`)
    const more = news.length > some.length ? [`${news.length - some.length} more`] : []
    this.#tell('held_back', name, `held back: ${[...some, ...more].join('; ')}: ${this.#remedy(name)}`)
  }

  #remedy(name: string): string {
    let how = ''
    try {
      how = outside(() => this.#plan.pins?.howToAccept?.(name)) ?? ''
    } catch {
      // said without it
    }
    return `${accepting}${how === '' ? '' : ` (${how})`}`
  }

  /** The error for the use of what is held back. */
  #heldError(name: string, key: string, why: string): McpError {
    // how is for whoever runs it: it may say where files are
    const problem = `${visible(key)} of ${name} ${why}: ${accepting}: ask whoever runs this server`
    const data = { code: 'HELD_BACK', retryable: false, sent: false }
    return new McpError(errorCodes.internalError, problem, { data })
  }

  /** Of a name in the options, once. */
  #warn(upstream: string, problem: string): void {
    const whole = upstream === '' ? problem : `servers.${upstream}.${problem}`
    const name = whole.split(' fits ', 1)[0] ?? whole
    this.#tellOnce(name, 'unknown_name', upstream, whole)
  }

  #tellOnce(about: string, type: GatewayEvent['type'], upstream: string, problem: string): void {
    if (this.#warned.has(about) || this.#warned.size >= maxWarned) return
    this.#warned.add(about)
    this.#tell(type, upstream, problem)
  }

  #tell(type: GatewayEvent['type'], upstream: string, problem: string): void {
    const { self } = this.#ctx
    const server = this.#holdings.settings.name
    emitServer('gateway', () => ({
      type,
      level: 'warn',
      tree: processOf(self).tree.id,
      server,
      upstream,
      problem,
    }))
  }

  /** Whether it is not known yet which servers there are. */
  get #isPending(): boolean {
    return typeof this.#plan.source === 'function' && this.#upstreams === undefined
  }

  get #isLookingUp(): boolean {
    return [...this.#places.values()].some((place) => place.isLookedUp)
  }

  get #isSettled(): boolean {
    if (this.#isPending) return this.#isLate
    return [...this.#places.values()].every(({ isSettled }) => isSettled)
  }

  #settle(): void {
    if (this.#isSettled && this.#waiting.length > 0) this.put()
  }
}

const ownLists =
  "it lists nothing to nobody in particular: with lists: 'shared' what it lists to one user is shown to all"
/** The name of no server: wants of resources whose servers are not known. */
const nobody = ''

/** Whether it is told for the first time. Of too many nothing more is told. */
function isNews({ heldTold }: UpstreamState, what: string): boolean {
  if (heldTold.has(what) || heldTold.size >= maxHeldTold) return false
  heldTold.add(what)
  return true
}

/** Whether not everybody may use all that it has. */
function isRuled({ options: { scopes, permits, allow, deny } }: UpstreamLink): boolean {
  return (scopes ?? permits ?? allow ?? deny) !== undefined
}

function isAsleep({ link, record }: UpstreamState): boolean {
  return link.isLazy && record.lists === undefined && !link.isRunning
}

function leave(place: UpstreamState): void {
  for (const each of place.undo) each()
  place.again?.cancel()
  stopAsking(place)
  rest(place)
  place.link.end()
}

function stopAsking(place: UpstreamState): void {
  place.asking?.abort()
  Object.assign(place, { asking: undefined, isPartial: false })
}

function rest(place: UpstreamState): void {
  place.pause?.cancel()
  place.pause = undefined
}

function nameIn(component: Component): string {
  if (component.kind === 'resource') return component.uri
  return component.kind === 'resourceTemplate' ? component.uriTemplate : component.name
}

function keyOf(component: Component): string {
  return `${component.kind} ${nameIn(component)}`
}

function ownerOf(component: Component, server: string): Owner {
  const { kind, relayed } = component
  const matcher = kind === 'resourceTemplate' ? component.matcher : undefined
  return { server, kind, own: relayed?.own ?? nameIn(component), matcher }
}

function perOf({ per = 'gateway' }: StartedUpstream): string {
  return per
}

/** Whether only options differ: then it is not started anew. */
function isSameServer(
  before: UpstreamState['entry'],
  entry: UpstreamState['entry'],
): entry is StartedUpstream {
  const isOne = typeof before !== 'function' && typeof entry !== 'function'
  return (
    isOne &&
    isStarted(before) &&
    isStarted(entry) &&
    before.start === entry.start &&
    perOf(before) === perOf(entry)
  )
}

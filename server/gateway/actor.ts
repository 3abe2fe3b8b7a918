import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { type Deferred, defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { messageOf, show } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { processOf, type RefOf } from '../../runtime/process/ref.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { Component } from '../catalog/catalog.js'
import type { ToolDefinition } from '../definitions/define-tool.js'
import { type GatewayPlan, isUpstream, isUpstreams } from '../definitions/gateway-options.js'
import type { StartedUpstream, StartUpstream, Upstream, Upstreams } from '../definitions/upstreams.js'
import { emitServer, type GatewayEvent } from '../base/events.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { baseActor } from '../subscriptions/base-actor.js'
import { componentsOf, type Lists, unlistedResource } from './components.js'
import { UpstreamLink } from './link.js'
import { fits, qualifiedUri } from './names.js'
import { searchTools } from './tool-search.js'

/** Milliseconds between two looks for clients that nobody uses. */
const sweepAfter = 30_000
/** Milliseconds until a client that did not start is started again. */
const startAgain = 5_000
/** Entries of one list of one server; what is beyond is left out. */
const maxEntries = 10_000
const maxPages = 1_000

/** Changes within this many ms are one. */
const coalesce = 5

const nothing: Lists = Object.freeze({ tools: [], resources: [], templates: [], prompts: [] })

/** One server, and what is known of it. */
interface Place {
  readonly link: UpstreamLink
  client: Upstream | undefined
  lists: Lists
  /** Whether its lists are known, or it cannot be had. */
  isSettled: boolean
  isReady: boolean
  /** Whether its lists are asked for now, and have changed meanwhile. */
  isAsking: boolean
  isStale: boolean
  undo: (() => void)[]
}

interface Held {
  readonly component: Component
  /** Whose it is, and its entry: another text, another component. */
  readonly text: string
  /** Undefined: of an earlier incarnation of this actor, and of no use. */
  readonly link?: UpstreamLink
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
    ctx.sendAfter(sweepAfter, 'sweep')
    ctx.sendAfter(plan.startTimeout, 'late')
    gateway.begin()
    return gateway
  },
  call: {
    /** Resolves when the first lists are there, or are not to be had in time. */
    settled: (gateway, _nothing: undefined, ctx): Deferred<void> | undefined => gateway.settled(ctx),
  },
  cast: {
    sync: (gateway) => gateway.sync(),
    source: (gateway, upstreams: Upstreams) => gateway.take(upstreams),
    began: (gateway, { name, client }: { readonly name: string; readonly client: Upstream }) =>
      gateway.watch(name, client),
    failed: (gateway, { name, problem }: { readonly name: string; readonly problem: string }, ctx) => {
      gateway.give(name, problem)
      ctx.sendAfter(startAgain, { again: name })
    },
    state: (
      gateway,
      { name, phase, client }: { readonly name: string; readonly phase: string; readonly client: Upstream },
    ) => gateway.note(name, phase, client),
    changed: (gateway, { name, client }: { readonly name: string; readonly client: Upstream }) =>
      gateway.ask(name, client),
    listed: (
      gateway,
      {
        name,
        client,
        lists,
      }: { readonly name: string; readonly client: Upstream; readonly lists: Lists | undefined },
    ) => gateway.listed(name, client, lists),
  },
  info: {
    timer(gateway, what, ctx) {
      if (what === 'late') return gateway.giveUp()
      if (what === 'put') return gateway.put()
      if (isObject(what))
        return 'again' in what ? gateway.again(String(what.again)) : gateway.askAgain(String(what.list))
      ctx.sendAfter(sweepAfter, 'sweep')
      return gateway.sweep()
    },
  },
})

class Gateway {
  readonly #holdings: Holdings
  readonly #plan: GatewayPlan
  readonly #ctx: ActorContext
  readonly #self: RefOf<typeof gatewayActor>
  readonly #places = new Map<string, Place>()
  /** What a search finds, where tools are not listed. */
  #hidden: readonly ToolDefinition[] = []
  /** What the servers have, by kind and name. */
  #held: ReadonlyMap<string, Held> = new Map()
  #changing: TimerRef | undefined
  #upstreams: Upstreams | undefined
  #waiting: Deferred<void>[] = []
  #isLate = false
  #undo: (() => void)[] = []

  constructor(holdings: Holdings, plan: GatewayPlan, ctx: ActorContext) {
    this.#holdings = holdings
    this.#plan = plan
    this.#ctx = ctx
    this.#self = ctx.self as RefOf<typeof gatewayActor>
    // what an earlier incarnation has offered: it may be gone, or lead nowhere
    const left = holdings.catalog.relayed()
    this.#held = new Map(left.map((component) => [keyOf(component), { component, text: '' }]))
  }

  [describe](): string {
    const ready = [...this.#places.values()].filter(({ isReady }) => isReady).length
    return `${ready} of ${this.#places.size} servers ready`
  }

  begin(): void {
    const { source, pinned } = this.#plan
    if (pinned !== undefined) {
      const tools = searchTools(() => this.#hidden)
      const former = tools.map(({ kind, name }) => [kind, name] as const)
      this.#holdings.catalog.swap(former, tools)
    }
    this.#extend()
    if (typeof source === 'function') return this.#start(source)
    if (isUpstreams(source)) return this.take(source)
    for (const [name, entry] of Object.entries(source)) this.#add(name, entry)
    return undefined
  }

  end(): void {
    for (const undo of this.#undo) undo()
    // whoever started them, ends them
    if (typeof this.#plan.source === 'function') this.#upstreams?.close().catch(() => {})
    for (const place of this.#places.values()) leave(place)
  }

  settled(ctx: ActorContext): Deferred<void> | undefined {
    if (this.#isSettled) {
      this.put()
      return undefined
    }
    const reply = ctx.defer<void>()
    this.#waiting.push(reply)
    return reply
  }

  giveUp(): void {
    this.#isLate = true
    this.#settle()
  }

  sweep(): void {
    for (const { link } of this.#places.values()) link.sweep()
  }

  /** A set of clients, in which they come and go. */
  take(upstreams: Upstreams): void {
    this.#upstreams = upstreams
    this.#undo.push(upstreams.onState(() => void this.#self.cast('sync')))
    this.sync()
  }

  sync(): void {
    const { names = [] } = this.#upstreams ?? {}
    for (const name of [...this.#places.keys()]) if (!names.includes(name)) this.#remove(name)
    for (const name of names) {
      const client = this.#upstreams?.get(name)
      const place = this.#places.get(name)
      // another client may have taken its name meanwhile: what it offers stays until that one tells
      if (client !== undefined && place?.client !== client) this.#add(name, client, place)
    }
    this.#settle()
  }

  /** The client that tells what a server offers. */
  watch(name: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    const changed = (): void => void this.#self.cast('changed', { name, client })
    const state = (): void => void this.#self.cast('state', { name, phase: client.state.phase, client })
    for (const undo of place.undo.splice(0)) undo()
    Object.assign(place, { client, isAsking: false, isStale: false })
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
    this.note(name, client.state.phase, client)
  }

  /** Its client could not be started. */
  give(name: string, problem: string): void {
    this.#tell('not_started', name, `${problem}: it is started again in ${startAgain} ms`)
    const place = this.#places.get(name)
    if (place !== undefined) place.isSettled = true
    this.#settle()
  }

  again(name: string): void {
    const { source } = this.#plan
    if (name === '' && typeof source === 'function' && this.#upstreams === undefined)
      return this.#start(source)
    const place = this.#places.get(name)
    return place === undefined ? undefined : this.#begin(place)
  }

  note(name: string, phase: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place?.client !== client) return
    place.isReady = phase === 'ready'
    if (phase === 'failed' || phase === 'closed') place.isSettled = true
    if (phase === 'ready') {
      place.link.ready(client)
      this.ask(name, client)
    }
    if (place.link.options.whileAway === 'hide') this.#change()
    this.#settle()
  }

  /** Asks a server for its lists; once more if they change meanwhile. */
  ask(name: string, client: Upstream): void {
    const place = this.#places.get(name)
    if (place?.client !== client || !place.isReady) return
    if (place.isAsking) {
      place.isStale = true
      return
    }
    place.isAsking = true
    const { signal } = this.#ctx
    const tell = (lists: Lists | undefined): void => void this.#self.cast('listed', { name, client, lists })
    fetchLists(client, signal).then(tell, () => tell(undefined))
  }

  /** It did not answer, and is still there. */
  askAgain(name: string): void {
    const client = this.#places.get(name)?.client
    if (client !== undefined) this.ask(name, client)
  }

  listed(name: string, client: Upstream, lists: Lists | undefined): void {
    const place = this.#places.get(name)
    if (place?.client !== client) return
    place.isAsking = false
    if (lists === undefined && place.isReady)
      this.#tell(
        'not_listed',
        name,
        `its lists could not be had: they are asked for again in ${startAgain} ms`,
      )
    if (lists !== undefined) {
      place.isSettled = true
      place.lists = lists
      this.#change()
    } else if (place.isReady) this.#ctx.sendAfter(startAgain, { list: name })
    if (place.isStale) {
      place.isStale = false
      this.ask(name, client)
    }
    this.#settle()
  }

  #add(name: string, entry: Upstream | StartUpstream | StartedUpstream, former?: Place): void {
    const { world } = this.#ctx
    if (former !== undefined) leave(former)
    const place: Place = {
      link: new UpstreamLink({
        name,
        entry: typeof entry === 'function' ? { start: entry } : entry,
        options: this.#plan.servers.get(name) ?? {},
        world,
        began: (client) => void this.#self.cast('began', { name, client }),
        resourceUpdated: (uri) => void this.#holdings.changes.resourceUpdated(uri).catch(() => {}),
      }),
      lists: former?.lists ?? nothing,
      client: undefined,
      isSettled: false,
      isReady: false,
      isAsking: false,
      isStale: false,
      undo: [],
    }
    this.#places.set(name, place)
    if (isUpstream(entry)) this.watch(name, entry)
    else this.#begin(place)
    if (former !== undefined) this.#change()
  }

  #begin({ link }: Place): void {
    void link.begin().then((error) => {
      if (error !== undefined) this.#self.cast('failed', { name: link.name, problem: messageOf(error) })
    })
  }

  #remove(name: string): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    this.#places.delete(name)
    leave(place)
    this.#change()
  }

  /** Code of the user: it does not run in here. */
  #start(source: Extract<GatewayPlan['source'], (...args: never) => unknown>): void {
    const { signal } = this.#ctx
    const answers = (name?: string) => this.#answersFor(String(name))
    const seat = { answers, principal: undefined, session: undefined, signal }
    // not in the scope of this actor: what goes wrong in there is not its fault
    outside(async () => source(seat))
      .then((upstreams) => {
        if (!isUpstreams(upstreams))
          throw new TypeError(`expected what startClients returns, got ${show(upstreams)}`)
        // it may have ended meanwhile
        if (!this.#self.cast('source', upstreams)) return upstreams.close()
        return undefined
      })
      .catch((error) => void this.#self.cast('failed', { name: '', problem: messageOf(error) }))
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
        form: (params, ctx) => of().onElicit.form(params, ctx),
        url: (params, ctx) => of().onElicit.url(params, ctx),
      },
      onSample: { run: (params, ctx) => of().onSample.run(params, ctx), tools: true, context: true },
      roots: async () => (this.#places.has(name) ? of().roots() : ([] as never)),
    }
  }

  /** Soon: what several servers tell at once is one change. */
  #change(): void {
    this.#changing ??= this.#ctx.sendAfter(coalesce, 'put')
  }

  /** Offers what the servers have. Names go to those that come first, whoever answers first. */
  put(): void {
    this.#changing = undefined
    const { separator, prefix, pinned } = this.#plan
    const { catalog, settings } = this.#holdings
    const held = new Map<string, Held>()
    for (const { link, lists, isReady } of this.#places.values()) {
      if (!isReady && link.options.whileAway === 'hide') continue
      // what an earlier incarnation of this actor has left stays until there is news
      if (lists === nothing)
        for (const [key, each] of this.#held)
          if (each.component.relayed?.server === link.name) held.set(key, each)
      const isTaken = (kind: Component['kind'], key: string): boolean => {
        const whole = `${kind} ${key}`
        return held.has(whole) || (!this.#held.has(whole) && catalog.has(kind, key))
      }
      const hasTasks = settings.tasks !== undefined
      for (const component of componentsOf(link, lists, { separator, prefix, hasTasks, isTaken })) {
        const text = JSON.stringify([link.name, component.relayed?.entry, component.scopes])
        const known = this.#held.get(keyOf(component))
        const isSame = known?.text === text && known.link === link
        held.set(keyOf(component), isSame ? known : { component, text, link })
      }
    }
    const isHidden = ({ component: { kind, name } }: Held): boolean =>
      kind === 'tool' && pinned !== undefined && !fits(name, pinned)
    const gone = [...this.#held].filter(([key, each]) => held.get(key) !== each && !isHidden(each))
    const come = [...held].filter(([key, each]) => this.#held.get(key) !== each && !isHidden(each))
    this.#held = held
    this.#hidden = [...held.values()].filter(isHidden).map(({ component }) => component as ToolDefinition)
    this.#extend()
    if (gone.length + come.length === 0) return
    catalog.swap(
      gone.map(([, { component }]) => [component.kind, nameIn(component)]),
      come.map(([, { component }]) => component),
    )
    const base = this.#ctx.registry.whereis(settings.names.base) as RefOf<typeof baseActor> | undefined
    base?.cast('changed')
  }

  #extend(): void {
    const { catalog, settings } = this.#holdings
    const links = [...this.#places.values()].map(({ link }) => link)
    const own = settings.definition.instructions
    const told = links.flatMap(({ name, server }) =>
      server?.instructions === undefined ? [] : [`# ${name}\n\n${server.instructions}`],
    )
    const instructions = [...(own === undefined ? [] : [own]), ...told].join('\n\n')
    catalog.extend({
      instructions: instructions === '' ? undefined : instructions,
      find: (uri) => {
        const meant = links.find(({ name }) => uri.startsWith(qualifiedUri(name, '')))
        if (meant !== undefined) return unlistedResource([meant], uri)
        const some = links.filter(({ server }) => server?.capabilities.resources !== undefined)
        return some.length === 0 ? undefined : unlistedResource(some, uri)
      },
    })
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

  get #isSettled(): boolean {
    const { source } = this.#plan
    if (this.#isLate) return true
    if (typeof source === 'function' && this.#upstreams === undefined) return false
    return [...this.#places.values()].every(({ isSettled }) => isSettled)
  }

  #settle(): void {
    if (!this.#isSettled || this.#waiting.length === 0) return
    this.put()
    for (const reply of this.#waiting.splice(0)) reply.resolve()
  }
}

function leave({ undo, link }: Place): void {
  for (const each of undo) each()
  link.end()
}

function nameIn(component: Component): string {
  if (component.kind === 'resource') return component.uri
  return component.kind === 'resourceTemplate' ? component.uriTemplate : component.name
}

function keyOf(component: Component): string {
  return `${component.kind} ${nameIn(component)}`
}

/** All that a server offers. Rejects where it cannot be asked. */
async function fetchLists(client: Upstream, signal: AbortSignal): Promise<Lists> {
  const { tools, resources, prompts } = client.server?.capabilities ?? {}
  const fetch = async (method: string, field: string): Promise<JsonObject[]> => {
    const all: JsonObject[] = []
    const seen = new Set<unknown>()
    let cursor: unknown
    do {
      seen.add(cursor)
      const page = (await client.request(method, cursor === undefined ? {} : { cursor }, {
        signal,
        fresh: true,
      })) as JsonObject
      const entries = page[field]
      if (Array.isArray(entries)) all.push(...entries.filter(isObject))
      cursor = page.nextCursor
      // a list may have no end
    } while (cursor !== undefined && !seen.has(cursor) && seen.size < maxPages && all.length < maxEntries)
    return all.slice(0, maxEntries)
  }
  const [some, others, templates, last] = await Promise.all([
    tools === undefined ? [] : fetch('tools/list', 'tools'),
    resources === undefined ? [] : fetch('resources/list', 'resources'),
    // older servers have resources, and do not know templates
    resources === undefined ? [] : fetch('resources/templates/list', 'resourceTemplates').catch(() => []),
    prompts === undefined ? [] : fetch('prompts/list', 'prompts'),
  ])
  return { tools: some, resources: others, templates, prompts: last }
}

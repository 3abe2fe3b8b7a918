import { type Deferred, defineActor, refuse } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { show } from '../../runtime/base/errors.js'
import { among } from '../../runtime/base/near.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { RefOf } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Peer } from '../../transports/contract/contract.js'
import { hearersOf } from '../catalog/authorization.js'
import type { Component } from '../catalog/catalog.js'
import type { Changes, ListKind } from '../context/changes.js'
import { optionError, ServerError } from '../base/errors.js'
import type { ClusterNews } from '../cluster/cluster.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import { type Listen, type ListenCall, Listens } from './listens.js'
import type { TaskRecord } from '../engine/task-store.js'
import { taskNotice } from '../tasks/views.js'
import type { SessionRef } from '../sessions/session-actor.js'
import { runningSessions } from '../sessions/sessions.js'
import { noteNotification, originOf } from '../base/events.js'

interface Base {
  readonly holdings: Holdings
  readonly listens: Listens
  /** The version of the catalog that streams were notified of. */
  told: number
  announcement: TimerRef | undefined
  telling: TimerRef | undefined
  retrying: TimerRef | undefined
  [describe](): string
}

interface Listening extends Omit<ListenCall, 'ended'> {
  /** Aborted when its client has gone or cancels. */
  readonly signal: AbortSignal
}

/** Changes within this many ms share a notification. */
const coalesce = 10
/** Milliseconds until a reader that was behind is tried again. */
const retryAfter = 250

const keyField = Object.freeze({
  tool: 'name',
  resource: 'uri',
  resourceTemplate: 'uriTemplate',
  prompt: 'name',
})

/** NAME/base: changes the catalog at run time, keeps the streams, and tells streams and sessions. */
export const baseActor = defineActor({
  name: 'base',
  stray: 'report',
  init(holdings: Holdings, ctx: ActorContext): Base {
    const { definition, name, limits, tasks } = holdings.settings
    const origin = originOf(ctx.self, name)
    const noteSent = (method: string) => noteNotification(origin, 'sent', method)
    const listens = new Listens(limits.subscriptions, ctx.clock.now, noteSent, (record) =>
      taskNotice(record, tasks),
    )
    ctx.own(() => listens.abandon())
    return {
      holdings,
      listens,
      told: holdings.catalog.version,
      announcement: undefined,
      telling: undefined,
      retrying: undefined,
      [describe]: () => `${definition.info.name} ${definition.info.version}`,
    }
  },
  call: {
    add(base, component: Component, ctx) {
      const { kind, name } = component
      const { catalog } = base.holdings
      const problem = ofAllNodes(base, kind, name)
      if (problem !== undefined) return refuse(problem)
      if (!catalog.declares(component)) {
        const problem = `${kind} ${show(name)}: the server does not declare this kind: give defineServer an empty array of it`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: kind } }))
      }
      if (component.isolated !== undefined && base.holdings.isolation === undefined) {
        const problem = `${kind} ${show(name)}: isolate: this server runs no isolated handlers: start it with isolation: {}, or with an isolated component`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: 'isolate' } }))
      }
      if (
        component.kind === 'tool' &&
        component.task === 'required' &&
        base.holdings.taskStore === undefined
      ) {
        const problem = `tool ${show(name)}: task: this server has no tasks: start it with tasks: {}, or with a tool that may be one`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: 'task' } }))
      }
      if (!catalog.add(component)) {
        const key = keyField[kind]
        const problem = `${kind} ${show(Reflect.get(component, key))}: expected a ${key} that no other ${kind} has`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: key } }))
      }
      announce(base, ctx)
      return undefined
    },
    remove(base, { kind, key }: { kind: Component['kind']; key: string }, ctx) {
      const problem = ofAllNodes(base, kind, key)
      if (problem !== undefined) return refuse(problem)
      const removed = base.holdings.catalog.remove(kind, key)
      if (removed) announce(base, ctx)
      return removed
    },
    listChanged(base, list: ListKind, ctx) {
      const { catalog } = base.holdings
      if (!catalog.touch(list)) {
        const problem = `listChanged: expected a list that the server declares, got ${show(list)}`
        return refuse(optionError('list', problem))
      }
      base.holdings.settings.cluster?.publish({ type: 'list', list })
      announce(base, ctx)
      return undefined
    },
    resourceUpdated(base, uri: string, ctx) {
      base.holdings.settings.cluster?.publish({ type: 'resource', uri })
      return noteUpdated(base, uri, ctx)
    },
    listen,
  },
  cast: {
    tell: (base, _nothing: undefined, ctx) => tell(base, ctx),
    /** A server behind this one has told of a change: each node hears of it by itself. */
    relayed: (base, { uri, mayHear }: RelayedUpdate, ctx) => noteUpdated(base, uri, ctx, mayHear),
    /** The catalog has been changed. */
    changed: (base, _nothing: undefined, ctx) => announce(base, ctx),
    closeListen: ({ listens }, stream: Listen) => listens.close(stream),
    endListens: ({ listens }) => listens.endAll(),
    taskChanged(base, record: TaskRecord, ctx) {
      base.listens.noteTask(record)
      if (base.listens.hasNews) base.telling ??= ctx.sendAfter(coalesce, 'tell')
    },
    /** News of another node. */
    hear(base, news: ClusterNews, ctx) {
      if (news.type === 'resource') return noteUpdated(base, news.uri, ctx)
      if (news.type === 'anything') return noteAnything(base, ctx)
      if (base.holdings.catalog.touch(news.list)) announce(base, ctx)
      return undefined
    },
  },
  info: {
    timer(base, what: 'announce' | 'tell' | 'retry', ctx) {
      if (what === 'announce') return announceNow(base, ctx)
      if (what === 'tell') return tell(base, ctx)
      base.retrying = undefined
      base.listens.retry()
      return retryLater(base, ctx)
    },
  },
})

/** Handlers cannot be sent to other nodes: a client must not see two lists, by which of them takes its request. */
function ofAllNodes({ holdings }: Base, kind: string, name: unknown): ServerError | undefined {
  if (holdings.settings.cluster === undefined) return undefined
  const instead = `put it into the definition, or answer the list yourself (handleRequest) from what all nodes share`
  const problem = `${kind} ${show(name)}: the nodes of a cluster offer what their definition has, and none may change alone: ${instead}`
  return new ServerError('BAD_DEFINITION', problem, { data: { field: kind } })
}

/** It is unknown what has changed: all listeners of lists and resources are notified. */
function noteAnything(base: Base, ctx: ActorContext): Promise<void> {
  const { catalog } = base.holdings
  const touched = lists.map((list) => catalog.touch(list))
  if (touched.includes(true)) announce(base, ctx)
  base.listens.noteAllUpdated((uri) => hearersOf(uri, catalog))
  const number = base.holdings.asleep.noteUpdate()
  base.telling ??= ctx.sendAfter(coalesce, 'tell')
  return tellSessions(base, ctx, (session) => void session.cast('allUpdated', number))
}

/** A change that a server behind this one has told of. */
interface RelayedUpdate {
  readonly uri: string
  /** Who may use it there; undefined: whoever has subscribed. */
  readonly mayHear: ((peer: Peer) => boolean) | undefined
}

function noteUpdated(
  base: Base,
  uri: string,
  ctx: ActorContext,
  mayHear?: RelayedUpdate['mayHear'],
): Promise<void> {
  const here = hearersOf(uri, base.holdings.catalog)
  const isOpen = here === undefined && mayHear === undefined
  const hears = (peer: Peer): boolean => here?.(peer) !== false && mayHear?.(peer) !== false
  base.listens.noteUpdated(uri, isOpen ? undefined : hears)
  const number = base.holdings.asleep.noteUpdate(uri)
  base.telling ??= ctx.sendAfter(coalesce, 'tell')
  return tellSessions(base, ctx, (session) => void session.cast('updated', { uri, number, mayHear }))
}

function announce(base: Base, ctx: ActorContext): void {
  base.announcement ??= ctx.sendAfter(coalesce, 'announce')
}

async function announceNow(base: Base, ctx: ActorContext): Promise<void> {
  const { catalog } = base.holdings
  base.announcement = undefined
  for (const list of catalog.changedSince(base.told)) base.listens.noteChanged(list)
  base.told = catalog.version
  tell(base, ctx)
  await tellSessions(base, ctx, (session) => void session.cast('changed'))
}

/** Replies with how the stream ended: by us, or closed by its client. */
function listen(base: Base, { signal, ...call }: Listening, ctx: ActorContext): Deferred<'ended' | 'closed'> {
  const { listens, holdings } = base
  const self = ctx.self as RefOf<typeof baseActor>
  const reply = ctx.defer<'ended' | 'closed'>()
  if (signal.aborted) {
    reply.resolve('closed')
    return reply
  }
  const ended = (error?: unknown): void => {
    signal.removeEventListener('abort', onAbort)
    if (error === undefined) reply.resolve('ended')
    else reply.reject(error)
  }
  const onAbort = (): void => {
    self.cast('closeListen', stream)
    reply.resolve('closed')
  }
  let stream: Listen
  try {
    stream = listens.open({ ...call, ended }, holdings.catalog.capabilities)
  } catch (error) {
    reply.reject(error)
    return reply
  }
  if (stream.open) signal.addEventListener('abort', onAbort, { once: true })
  retryLater(base, ctx)
  return reply
}

/**
 * Tells a few streams, and the rest with further messages: others come between, and so does the event loop.
 */
function tell(base: Base, ctx: ActorContext): void {
  base.telling = undefined
  const self = ctx.self as RefOf<typeof baseActor>
  // a mailbox may be full
  if (base.listens.tell() && !self.cast('tell')) base.telling = ctx.sendAfter(coalesce, 'tell')
  retryLater(base, ctx)
}

function retryLater(base: Base, ctx: ActorContext): void {
  if (base.listens.hasBehind) base.retrying ??= ctx.sendAfter(retryAfter, 'retry')
}

/** A session that does not run compares its record with the catalog when it is brought back. */
async function tellSessions(
  { holdings }: Base,
  { registry }: ActorContext,
  tell: (session: SessionRef) => void,
): Promise<void> {
  for (const session of await runningSessions(registry, holdings.settings.names))
    if (session.alive) tell(session)
}

const lists: readonly ListKind[] = ['tools', 'resources', 'prompts']

export function changesOf(registry: Registry, base: string): Changes {
  const ref = registry.named<typeof baseActor>(base)
  return Object.freeze({
    async resourceUpdated(uri: string) {
      if (typeof uri !== 'string' || uri === '')
        throw optionError('uri', `resourceUpdated: expected a uri, got ${show(uri)}`)
      await ref.call('resourceUpdated', uri)
    },
    async listChanged(list: ListKind) {
      if (!lists.includes(list)) {
        const expected = among('a list', lists, String(list))
        throw optionError('list', `listChanged: expected ${expected}, got ${show(list)}`)
      }
      await ref.call('listChanged', list)
    },
  })
}

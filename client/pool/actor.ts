import { defineActor, type Down } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Client } from '../handle/client.js'
import { callError, ClientError } from '../base/errors.js'
import { endClient, startClientOf } from './clients.js'
import type { PoolDesk } from './desk.js'
import { askForSign, judgeSign, type Sign } from './health.js'
import type { PoolMember } from './member.js'
import type { ClientState } from '../base/state.js'

/** What the actor of a pool is started with. */
export interface PoolInput {
  readonly desk: PoolDesk
  /** The name of the dynamic supervisor of its clients. */
  readonly clients: string
}

class PoolState {
  readonly desk: PoolDesk
  readonly clients: string
  /** Which member a process belongs to. */
  readonly watched = new Map<ProcessRef, PoolMember>()
  /** When those that are down are started again. */
  readonly pauses = new Map<PoolMember, { readonly due: number; readonly timer: TimerRef }>()

  constructor({ desk, clients }: PoolInput) {
    this.desk = desk
    this.clients = clients
  }

  [describe](): string {
    const { desk } = this
    return `${desk.free} of ${desk.members.size} free, ${desk.waiting} waiting`
  }
}

/** What the actor tells itself. */
type PoolNews =
  | { readonly type: 'start'; readonly member: PoolMember }
  | { readonly type: 'started'; readonly member: PoolMember }
  | { readonly type: 'notStarted'; readonly member: PoolMember; readonly error: Error }
  /** Its client will never be ready: another one may, some day. */
  | { readonly type: 'useless'; readonly member: PoolMember; readonly client: Client; readonly reason: Error }
  /** Somebody begins to wait. */
  | { readonly type: 'awaited' }
  | { readonly type: 'ask' }
  | ({ readonly type: 'sign' } & Sign)

/**
 * Looks after the members of a pool: starts them, again if they end, and asks them for signs of life. Calls
 * do not pass through it.
 */
export const poolActor = defineActor({
  name: 'pool',
  stray: 'report',
  init(input: PoolInput, ctx) {
    const state = new PoolState(input)
    const { members, settings, demand } = state.desk
    const { self } = ctx
    ctx.own(demand.onBegin(() => self.alive && tellSelf(self, { type: 'awaited' })))
    state.desk.newcomer = (member) => self.alive && tellSelf(self, { type: 'start', member })
    for (const member of members.values()) {
      // An actor before this one may have begun.
      member.asked = false
      if (member.ref?.alive === true) adopt(state, member, ctx)
      else launch(state, member, ctx)
    }
    if (settings.health !== undefined) later(settings.health.every, { type: 'ask' }, ctx)
    return state
  },
  info: {
    message: (state: PoolState, news: unknown, ctx: ActorContext) => take(state, news as PoolNews, ctx),
    timer: (state: PoolState, news: unknown, ctx: ActorContext) => take(state, news as PoolNews, ctx),
    down(state: PoolState, { process }: Down, ctx: ActorContext) {
      const member = state.watched.get(process)
      state.watched.delete(process)
      if (member !== undefined && member.ref === process) ended(state, member, ctx)
    },
  },
})

function take(state: PoolState, news: PoolNews, ctx: ActorContext): void {
  switch (news.type) {
    case 'start':
      return launch(state, news.member, ctx)
    case 'started':
      if (news.member.starts > 1) state.desk.tell('restarted', news.member)
      return adopt(state, news.member, ctx)
    case 'notStarted':
      return notStarted(state, news.member, news.error, ctx)
    case 'useless':
      return giveUpOn(state, news, ctx)
    case 'awaited':
      return startSooner(state, ctx)
    case 'ask':
      return askAll(state, ctx)
    case 'sign':
      judgeSign(state.desk, news)
      if (news.member.overdue) ask(state, news.member, ctx)
      return
    default:
      news satisfies never
  }
}

/**
 * Starts the client of a member; whether it came about is a message, so that one that is slow delays no
 * other.
 */
function launch({ desk, clients, pauses }: PoolState, member: PoolMember, ctx: ActorContext): void {
  pauses.get(member)?.timer.cancel()
  pauses.delete(member)
  if (member.leaving || desk.over !== undefined || member.ref?.alive === true) return
  const { self } = ctx
  member.setbacks.began(desk.clock.now())
  void startClientOf(member, { clients, demand: desk.demand }, ctx).then(
    () => self.alive && tellSelf(self, { type: 'started', member }),
    (error: Error) => self.alive && tellSelf(self, { type: 'notStarted', member, error }),
  )
}

function notStarted(state: PoolState, member: PoolMember, error: Error, ctx: ActorContext): void {
  if (member.ref?.alive === true) return adopt(state, member, ctx)
  member.reason = error
  startLater(state, member, ctx)
}

/** Watches a client that runs. */
function adopt(state: PoolState, member: PoolMember, ctx: ActorContext): void {
  const { ref, client } = member
  if (ref === undefined || client === undefined || state.watched.has(ref)) return
  const { desk } = state
  state.watched.set(ref, member)
  ctx.monitor(ref)
  const { self } = ctx
  let ready = false
  const look = (now: ClientState): void => {
    if (member.client !== client) return
    const { phase, reason } = now
    if (phase === 'ready' && !ready) begins(desk, member)
    if (phase !== 'ready' && ready) desk.tell('lost', member, reason)
    ready = phase === 'ready'
    desk.update(member)
    const useless = uselessness(member, now)
    if (useless !== undefined) tellSelf(self, { type: 'useless', member, client, reason: useless })
  }
  client.onState(look)
  look(client.state)
}

function begins(desk: PoolDesk, member: PoolMember): void {
  member.healthy = true
  member.misses = 0
  member.hopeless = false
  member.reason = undefined
  desk.tell('ready', member)
}

/** A client that has ended by itself is heard of as such. */
function giveUpOn(
  { desk, clients }: PoolState,
  { member, client, reason }: Extract<PoolNews, { type: 'useless' }>,
  ctx: ActorContext,
): void {
  if (member.leaving || desk.over !== undefined || member.client !== client) return
  member.reason = reason
  if (member.ref?.alive !== true) return
  member.hopeless = true
  desk.tell('failed', member, reason)
  desk.update(member)
  endClient(ctx.registry, clients, member.ref)
}

function ended(state: PoolState, member: PoolMember, ctx: ActorContext): void {
  const { desk } = state
  member.reason ??= member.client?.state.reason
  member.client = undefined
  member.ref = undefined
  desk.update(member)
  if (member.leaving || desk.over !== undefined) return
  desk.tell('down', member, member.reason)
  startLater(state, member, ctx)
}

function startLater(state: PoolState, member: PoolMember, ctx: ActorContext): void {
  const { clock, demand } = state.desk
  startAfter(member.setbacks.next(clock.now(), demand.any), state, member, ctx)
}

/** Those that are down come back soon, now that somebody waits. */
function startSooner(state: PoolState, ctx: ActorContext): void {
  const { desk, pauses } = state
  for (const [member, { due, timer }] of pauses) {
    timer.cancel()
    startAfter(member.setbacks.left(due - desk.clock.now()), state, member, ctx)
  }
}

function startAfter(ms: number, { desk, pauses }: PoolState, member: PoolMember, ctx: ActorContext): void {
  const left = Math.max(0, ms)
  pauses.set(member, { due: desk.clock.now() + left, timer: later(left, { type: 'start', member }, ctx) })
}

function askAll(state: PoolState, ctx: ActorContext): void {
  const { members, settings } = state.desk
  if (settings.health === undefined) return
  for (const member of members.values()) ask(state, member, ctx)
  later(settings.health.every, { type: 'ask' }, ctx)
}

function ask({ desk }: PoolState, member: PoolMember, { self }: ActorContext): void {
  const { health } = desk.settings
  if (health === undefined) return
  askForSign(member, health.every, (sign) => {
    if (self.alive) tellSelf(self, { type: 'sign', ...sign })
  })
}

function later(ms: number, news: PoolNews, ctx: ActorContext): TimerRef {
  return ctx.sendAfter(ms, news)
}

function tellSelf(self: ActorContext['self'], news: PoolNews): void {
  self.send(news)
}

/**
 * Why a client will never be ready, though it goes on; one that gave up has ended, which is heard of anyway.
 */
function uselessness({ name }: PoolMember, { phase, reason }: ClientState): Error | undefined {
  if (phase === 'closed')
    return callError('CLOSED', `client ${name} was closed`, { sent: false, retryable: false })
  if (phase !== 'failed' || (reason instanceof ClientError && reason.code === 'GAVE_UP')) return undefined
  return reason
}

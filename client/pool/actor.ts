import { RuntimeError } from '../../runtime/base/errors.js'
import { defineActor, type Down, ignore } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { ChildSpec } from '../../runtime/supervision/child-spec.js'
import { type DynamicSupervisor, dynamicSupervisorAt } from '../../runtime/supervision/dynamic.js'
import { supervisorAt } from '../../runtime/supervision/supervise.js'
import { describe } from '../../runtime/watch/inspect.js'
import { callError, ClientError, type ClientErrorCode } from '../base/errors.js'
import type { ClientState } from '../base/state.js'
import type { Client } from '../handle/client.js'
import { specOf } from '../handle/supervisor.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

interface PoolInput {
  readonly desk: PoolDesk
  readonly clients: string
}

interface PoolState extends PoolInput {
  readonly watched: Map<ProcessRef, PoolMember>
  /** When members that are down are started again. */
  readonly pauses: Map<PoolMember, { readonly due: number; readonly timer: TimerRef }>
  [describe](): string
}

/** The outcome of a ping. */
interface Sign {
  readonly member: PoolMember
  readonly client: Client
  /** Undefined: it answered. */
  readonly missing: Error | undefined
}

type PoolNews =
  | { readonly type: 'start'; readonly member: PoolMember }
  | { readonly type: 'started'; readonly member: PoolMember }
  | { readonly type: 'notStarted'; readonly member: PoolMember; readonly error: Error }
  /** Its client will never be ready. */
  | { readonly type: 'failed'; readonly member: PoolMember; readonly client: Client; readonly reason: Error }
  | { readonly type: 'awaited' }
  | { readonly type: 'ask' }
  | ({ readonly type: 'sign' } & Sign)

/** Starts members, restarts them when they end, and pings them. Calls do not pass through it. */
export const poolActor = defineActor({
  name: 'pool',
  stray: 'report',
  init(input: PoolInput, ctx) {
    const { members, settings, demand } = input.desk
    const state: PoolState = {
      ...input,
      watched: new Map(),
      pauses: new Map(),
      [describe]: () => `${input.desk.free} of ${members.size} free, ${input.desk.waiting} waiting`,
    }
    const { self } = ctx
    ctx.own(demand.onBegin(() => self.alive && tellSelf(self, { type: 'awaited' })))
    state.desk.newcomer = (member) => self.alive && tellSelf(self, { type: 'start', member })
    for (const member of members.values()) {
      // asked by an earlier actor
      member.asked = false
      if (member.ref?.alive === true) adopt(state, member, ctx)
      else launch(state, member, ctx)
    }
    if (settings.health !== undefined) later(settings.health.every, { type: 'ask' }, ctx)
    return state
  },
  info: {
    message: (state: PoolState, news: unknown, ctx: ActorContext) => handle(state, news as PoolNews, ctx),
    timer: (state: PoolState, news: unknown, ctx: ActorContext) => handle(state, news as PoolNews, ctx),
    down(state: PoolState, { process }: Down, ctx: ActorContext) {
      const member = state.watched.get(process)
      state.watched.delete(process)
      if (member !== undefined && member.ref === process) ended(state, member, ctx)
    },
  },
})

function handle(state: PoolState, news: PoolNews, ctx: ActorContext): void {
  switch (news.type) {
    case 'start':
      return launch(state, news.member, ctx)
    case 'started':
      if (news.member.starts > 1) state.desk.tell('restarted', news.member)
      return adopt(state, news.member, ctx)
    case 'notStarted':
      return notStarted(state, news.member, news.error, ctx)
    case 'failed':
      return endFailed(state, news, ctx)
    case 'awaited':
      return startSooner(state, ctx)
    case 'ask':
      return askAll(state, ctx)
    case 'sign':
      judge(state, news)
      if (news.member.overdue) ask(state, news.member, ctx)
      return
    default:
      news satisfies never
  }
}

/** The outcome comes as a message: a slow start delays no other member. */
function launch(state: PoolState, member: PoolMember, ctx: ActorContext): void {
  const { desk, pauses } = state
  pauses.get(member)?.timer.cancel()
  pauses.delete(member)
  if (member.leaving || desk.over !== undefined || member.ref?.alive === true) return
  const { self } = ctx
  member.setbacks.began(desk.world.now())
  void startClientOf(state, member, ctx).then(
    () => self.alive && tellSelf(self, { type: 'started', member }),
    (error: Error) => self.alive && tellSelf(self, { type: 'notStarted', member, error }),
  )
}

function notStarted(state: PoolState, member: PoolMember, error: Error, ctx: ActorContext): void {
  if (member.ref?.alive === true) return adopt(state, member, ctx)
  member.reason = error
  startLater(state, member, ctx)
}

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
    const failure = failureOf(member, now)
    if (failure !== undefined) tellSelf(self, { type: 'failed', member, client, reason: failure })
  }
  client.onState(look)
  look(client.state)
}

function begins(desk: PoolDesk, member: PoolMember): void {
  member.healthy = true
  member.misses = 0
  member.failed = false
  member.reason = undefined
  desk.tell('ready', member)
}

/** Ends a client that will never be ready; if it has ended by itself, `down` tells. */
function endFailed(
  { desk, clients }: PoolState,
  { member, client, reason }: Extract<PoolNews, { type: 'failed' }>,
  ctx: ActorContext,
): void {
  if (member.leaving || desk.over !== undefined || member.client !== client) return
  member.reason = reason
  if (member.ref?.alive !== true) return
  member.failed = true
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
  const { world, demand } = state.desk
  const pause = member.setbacks.next(world, demand.any)
  // a person who has refused is asked again by a call, and not by a pool at rest
  startAfter(wantsPerson(member.reason) ? Math.max(pause, personPause) : pause, state, member, ctx)
  if (demand.any) startSooner(state, ctx)
}

/** Milliseconds until a member whose sign-in has failed is started again, if nobody calls. */
const personPause = 600_000

function wantsPerson(reason: unknown): boolean {
  for (let at = reason; at instanceof Error; at = at.cause)
    if (at instanceof ClientError && (at.code === 'SIGN_IN_NEEDED' || at.code === 'AUTHORIZATION_FAILED'))
      return !at.retryable
  return false
}

/** A caller waits: shortens pauses. */
function startSooner(state: PoolState, ctx: ActorContext): void {
  const { desk, pauses } = state
  for (const [member, { due, timer }] of pauses) {
    timer.cancel()
    startAfter(member.setbacks.left(due - desk.world.now(), desk.world), state, member, ctx)
  }
}

function startAfter(ms: number, { desk, pauses }: PoolState, member: PoolMember, ctx: ActorContext): void {
  const left = Math.max(0, ms)
  pauses.set(member, { due: desk.world.now() + left, timer: later(left, { type: 'start', member }, ctx) })
}

function askAll(state: PoolState, ctx: ActorContext): void {
  const { members, settings } = state.desk
  if (settings.health === undefined) return
  for (const member of members.values()) ask(state, member, ctx)
  later(settings.health.every, { type: 'ask' }, ctx)
}

/** One question at a time. */
function ask({ desk }: PoolState, member: PoolMember, { self }: ActorContext): void {
  const { client, asked, leaving } = member
  member.overdue = asked
  const { health } = desk.settings
  if (health === undefined || client === undefined || client.state.phase !== 'ready' || asked || leaving)
    return
  const hear = (missing: Error | undefined): void => {
    if (self.alive) tellSelf(self, { type: 'sign', member, client, missing })
  }
  member.asked = true
  void client.ping({ timeout: health.every }).then(
    () => hear(undefined),
    (error: Error) => hear(isSilence(error) ? error : undefined),
  )
}

/** A silent member gets no calls until it answers. */
function judge({ desk }: PoolState, { member, client, missing }: Sign): void {
  member.asked = false
  const { health } = desk.settings
  if (health === undefined || member.client !== client || client.state.phase !== 'ready') return
  member.misses = missing === undefined ? 0 : member.misses + 1
  const healthy = member.misses < health.misses
  // only an answer makes it healthy again
  if (healthy === member.healthy || (healthy && missing !== undefined)) return
  member.healthy = healthy
  member.reason = missing
  desk.tell(healthy ? 'healthy' : 'unhealthy', member, missing)
  desk.update(member)
}

const silent: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>([
  'TIMEOUT',
  'CONNECTION_LOST',
  'REQUEST_FAILED',
  'NOT_READY',
])

/** Any answer is a sign of life, also an error, as of a server that does not know the method. */
function isSilence(error: Error): boolean {
  return error instanceof ClientError && silent.has(error.code)
}

function later(ms: number, news: PoolNews, ctx: ActorContext): TimerRef {
  return ctx.sendAfter(ms, news)
}

function tellSelf(self: ActorContext['self'], news: PoolNews): void {
  self.send(news)
}

/** Why a living client will never be ready; of one that gave up `down` tells. */
function failureOf({ name }: PoolMember, { phase, reason }: ClientState): Error | undefined {
  if (phase === 'closed')
    return callError('CLOSED', `client ${name} was closed`, { sent: false, retryable: false })
  if (phase !== 'failed' || (reason instanceof ClientError && reason.code === 'GAVE_UP')) return undefined
  return reason
}

/** Starts a member's client as a temporary child: its crashes do not count against the others. */
async function startClientOf(
  { desk, clients }: PoolState,
  member: PoolMember,
  { registry }: ActorContext,
): Promise<void> {
  const supervisor = supervisorOf(clients, registry)
  if (supervisor === undefined) throw new RuntimeError('NOPROC', `nobody is called ${clients}`)
  // a worker: of a supervisor that ends and is not started again the runtime warns
  const overrides = { restart: 'temporary', type: 'worker', shutdown: 'infinity' } as const
  const spec = specOf(member.settings, overrides, desk.demand)
  const start: ChildSpec['start'] = async (ctx) => {
    const started = (await spec.start(ctx)) as { readonly ref: ProcessRef; readonly extra: Client }
    // at once: the pool's actor may crash meanwhile
    member.ref = started.ref
    member.client = started.extra
    member.starts += 1
    if (!member.leaving) return started
    // removed while it was being started, perhaps by an actor that has ended
    await supervisorAt(started.ref).stop()
    return ignore
  }
  await supervisor.startChild({ ...spec, start })
}

export function endClient(registry: Registry, clients: string, ref: ProcessRef): void {
  // it may have ended by itself, or with its supervisor
  void supervisorOf(clients, registry)
    ?.terminateChild(ref)
    .catch(() => {})
}

function supervisorOf(name: string, registry: Registry): DynamicSupervisor | undefined {
  const ref = registry.whereis(name)
  return ref === undefined ? undefined : dynamicSupervisorAt(ref)
}

import type { JsonObject } from '../../protocol/wire/json.js'
import { buildNotification } from '../../protocol/wire/jsonrpc.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import { type Deferred, defineActor, type Refusal, refuse } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { lazy, retryLoad } from '../../runtime/faults/load.js'
import { processOf } from '../../runtime/process/ref.js'
import { TransportError } from '../../transports/base/errors.js'
import type { LinkNews } from '../../transports/link/actor.js'
import { callError, type ClientError, failedError } from '../base/errors.js'
import { firstState } from '../base/state.js'
import { isGone } from '../calls/errors.js'
import { isSent, type Job } from '../calls/job.js'
import { DueTimer } from './actor-clock.js'
import { endedGreeting } from './greeting.js'
import { receive } from './inbound.js'
import { type ClientInput, Incarnation } from './incarnation.js'
import { ended, giveGreetingUp, unreachable } from './link-end.js'

const importMachine = /* @__PURE__ */ lazy(
  '../../client/connection/client-machine.js',
  () => import('./client-machine.js'),
)

/** One client: its machine and its calls. Handlers are short and never wait. */
export const clientActor = defineActor({
  name: 'client',
  stray: 'report',
  async init(input: ClientInput, ctx): Promise<Incarnation> {
    const { holdings } = input
    holdings.gaveUp = false
    holdings.handlerOwner.reportIn(ctx.self)
    holdings.group = processOf(ctx.self).parent?.ref
    if (!holdings.closing) holdings.tell(firstState)
    // a program without clients never loads the machine
    const { startConnection } = await retryLoad(importMachine, ctx)
    const state = new Incarnation(input, ctx, startConnection)
    holdings.load = () => ({ waiting: state.calls.waiting, inFlight: state.calls.inFlight })
    const { signal } = ctx
    const interrupted = (): void => {
      state.questions.end()
      holdings.interrupted(signal.reason)
    }
    signal.addEventListener('abort', interrupted, { once: true })
    if (holdings.closing) state.connection.send({ type: 'close' })
    return state
  },
  call: {
    request(state: Incarnation, job: Job, ctx: ActorContext): Deferred<JsonObject> | Refusal {
      const refusal = refusalOf(state, job)
      if (refusal !== undefined) return refuse(refusal)
      const reply = ctx.defer<JsonObject>()
      const { calls, connection } = state
      calls.admit(job, reply)
      if (calls.waiting === 1) {
        state.slowServer.begin()
        if (connection.phase === 'disconnected') connection.send({ type: 'awaited' })
      }
      return reply
    },
    /** Ends the connection and makes no other; answers when it has ended. */
    close(state: Incarnation, _: undefined, ctx: ActorContext): Deferred<void> | undefined {
      state.calls.failAll((job) => closedError(state, job))
      state.connection.send({ type: 'close' })
      if (!state.link.held) return undefined
      giveGreetingUp(state)
      const reply = ctx.defer<void>()
      state.closing.push(reply)
      state.link.close()
      return reply
    },
    reconnect({ connection }: Incarnation, _: undefined) {
      connection.send({ type: 'reconnect' })
    },
    /** Answers what the server has agreed to (2026-07-28). */
    sync(state: Incarnation, _: undefined, ctx: ActorContext): Deferred<SubscriptionFilter> {
      const reply = ctx.defer<SubscriptionFilter>()
      state.listening.sync(reply)
      return reply
    },
    handle: ({ settings, holdings }: Incarnation): ClientInput => ({ settings, holdings }),
  },
  cast: {
    /** Without an answer. */
    wished(state: Incarnation) {
      state.listening.sync()
    },
    /** Tells a server with a session; any other asks when it needs them. */
    rootsChanged({ connection, speech, link }: Incarnation) {
      if (connection.phase === 'ready' && speech.dialect.handshake)
        link.tell(buildNotification('notifications/roots/list_changed'))
    },
    cancel(state: Incarnation, { job, reason }: { readonly job: Job; readonly reason: string }) {
      state.calls.cancel(job, reason)
    },
    attached(state: Incarnation, _: undefined) {
      state.unread.readAll()
      if (state.link.held)
        ended(state, new TransportError('CONNECTION_LOST', 'the transport was restarted'), {})
      state.connection.send({ type: 'attached' })
    },
    opened(state: Incarnation, { link }: LinkNews['opened']) {
      if (state.link.is(link)) state.connection.send({ type: 'opened' })
    },
    message(state: Incarnation, news: LinkNews['message']) {
      if (state.link.is(news.link)) receive(state, news)
    },
    lost(state: Incarnation, news: LinkNews['lost']) {
      // by HTTP it is told behind every answer
      state.unread.behind(news.id, () => lost(state, news))
    },
    trouble({ holdings }: Incarnation, _: LinkNews['trouble']) {
      holdings.counts.troubles += 1
    },
    missed(state: Incarnation, { link }: LinkNews['missed']) {
      if (state.link.is(link)) state.wishTelling.missed()
    },
    closed(state: Incarnation, { link, end }: LinkNews['closed']) {
      if (!state.link.is(link)) return
      state.unread.readAll()
      const fatal = end.fatal === true
      const again = endedGreeting(state, fatal)
      const reason = end.error ?? new TransportError('CONNECTION_LOST', 'the transport ended the connection')
      ended(state, reason, { fatal, again })
    },
  },
  info: {
    message(_: Incarnation, due: unknown) {
      if (due instanceof DueTimer) due.run()
    },
    timer(_: Incarnation, due: unknown) {
      if (due instanceof DueTimer) due.run()
    },
  },
})

function lost(state: Incarnation, { link, id, error }: LinkNews['lost']): void {
  if (!state.link.is(link) || !state.calls.lost(id, error)) return
  if (isGone(error)) state.questions.clear()
  unreachable(state, error)
}

function refusalOf(state: Incarnation, job: Job): ClientError | undefined {
  const { calls, connection, settings } = state
  const { method } = job
  if (job.abandoned)
    return callError('CANCELLED', `${method}: nobody waits for it`, { sent: isSent(job), retryable: false })
  if (connection.phase === 'closed') return closedError(state, job)
  if (connection.phase === 'failed') return failedError(method, connection.state.reason, isSent(job))
  if (calls.size < settings.maxCalls) return undefined
  return callError('QUEUE_FULL', `${method}: ${calls.size} calls are waiting or in flight already`, {
    sent: isSent(job),
  })
}

function closedError({ settings }: Incarnation, job: Job): ClientError {
  return callError('CLOSED', `${job.method}: client ${settings.name} is closed`, {
    sent: isSent(job),
    retryable: false,
  })
}

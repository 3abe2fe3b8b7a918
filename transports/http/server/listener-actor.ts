import type { World } from '../../../runtime/time/world.js'
import { defineActor } from '../../../runtime/process/behaviour.js'
import type { Clock } from '../../../runtime/time/clock.js'
import { pause, waitWithin } from '../../../runtime/time/wait.js'
import { guard } from '../../../runtime/faults/containment.js'
import type { ActorContext } from '../../../runtime/process/context.js'
import { describe } from '../../../runtime/watch/inspect.js'
import { processOf } from '../../../runtime/process/ref.js'
import { TurnoverSet } from '../../../runtime/base/turnover.js'
import { ClientCounts } from '../../connections/client-counts.js'
import type { ListenScope, ServerPort } from '../../contract/contract.js'
import { emitTransport, type StreamEvent } from '../../contract/events.js'
import { AnswerQueue } from './answer-queue.js'
import { type Beats, HttpExchange, type ExchangeLimits } from './exchange.js'
import { createRoute } from './routes.js'
import type { HttpSettings } from './options.js'
import type { HttpSocket, TakeRequest } from './port.js'
import { hasExpired } from '../../contract/principal.js'

interface HttpListenerInput {
  readonly socket: HttpSocket
  readonly server: ServerPort
  readonly scope: ListenScope
}

interface Listener extends HttpListenerInput {
  readonly exchanges: HttpExchanges
  readonly limits: ExchangeLimits
  readonly beats: Beats & { readonly interval: number }
  [describe](): string
}

const restarting = 'The server is starting again: try once more'
const stopping = 'The server is being stopped'
/** What a response that is written already may take to reach its client when the server stops. */
const flushTime = 200

/** Serves Streamable HTTP on a port that outlives it; each exchange answers for its own errors. */
export const httpListener = defineActor({
  name: 'http_listener',
  trapExit: true,
  stray: 'report',
  init({ socket, server, scope }: HttpListenerInput, ctx: ActorContext): Listener {
    const { settings, log, origin } = socket
    const clients = new ClientCounts<HttpExchange>(settings.limits.requestsPerClient)
    const exchanges = new HttpExchanges(clients)
    const { bufferedBytes, messageBytes } = settings.limits
    const { retryInterval, commentInterval } = settings.streams
    const { world } = processOf(ctx.self).tree
    const answers = new AnswerQueue(world)
    const limits = {
      answers,
      world,
      maxBufferedBytes: bufferedBytes,
      maxMessageBytes: messageBytes,
      budget: socket.budget,
      readTimeout: commentInterval,
      retryInterval,
      proxies: settings.trustProxy,
      log,
      closing: false,
      noteStream: ({ isListening }: { readonly isListening: boolean }, type: StreamEvent['type']) =>
        emitTransport('stream', () => ({ ...origin, type, kind: isListening ? 'listen' : 'call' })),
    }
    const beats = readBeats(settings.streams)
    ctx.own(() => {
      answers.flush() // what has its answer is not interrupted
      exchanges.interrupt(restarting)
      answers.flush() // the connections may be closed before the turn is over
    })
    const route = createRoute(server, { ...settings, host: socket.host }, { clients, log, origin, limits })
    const take = takeRequests(exchanges, limits, route, ctx)
    ctx.own(socket.attach({ server, take, retire: () => retire({ exchanges, server }) }))
    ctx.sendAfter(commentInterval, 'comment')
    ctx.sendAfter(beats.interval, 'beat')
    const about = (): string => `${exchanges.size} open requests, ${socket.budget.describe()}`
    return { socket, server, scope, exchanges, limits, beats, [describe]: about }
  },
  info: {
    timer({ exchanges, server, socket, beats, limits }, payload, ctx) {
      if (payload === 'beat') {
        exchanges.beat(beats)
        // streams that were opened meanwhile
        if (socket.isRetiring) retire({ exchanges, server })
        return void ctx.sendAfter(beats.interval, 'beat')
      }
      exchanges.keepAlive(limits.world)
      socket.log?.trim()
      ctx.sendAfter(socket.settings.streams.commentInterval, 'comment')
    },
  },
  terminate: ({ scope, ...listener }, _reason, ctx) =>
    scope.stopping() ? drain({ scope, ...listener }, ctx.clock) : undefined,
})

/** Ends connections with their answers, and what has no end of its own now: clients come back elsewhere. */
function retire({ exchanges, server }: Pick<Listener, 'exchanges' | 'server'>): void {
  exchanges.retire()
  server.endSubscriptions()
}

/** Often enough for what is waited for, and no timer for each request. */
function readBeats({ openAfter, endAfter }: HttpSettings['streams']): Beats & { readonly interval: number } {
  const interval = Math.min(1_000, Math.max(5, Math.min(openAfter, endAfter) / 4))
  return {
    interval,
    opensAfter: Math.ceil(openAfter / interval),
    releasesAfter: Math.ceil(endAfter / interval),
  }
}

function takeRequests(
  exchanges: HttpExchanges,
  limits: ExchangeLimits,
  route: (exchange: HttpExchange) => Promise<void>,
  ctx: ActorContext,
): TakeRequest {
  const home = processOf(ctx.self).tree
  return (request, response) => {
    const exchange = new HttpExchange(request, response, home, limits)
    guard(exchange.token, () => {
      exchanges.add(exchange)
      if (limits.closing) exchange.interrupt(stopping)
      else void route(exchange)
    })
  }
}

/** Takes nothing new, ends the streams, gives what is in flight its time, and ends the rest. */
async function drain({ socket, server, scope, exchanges, limits }: Listener, clock: Clock): Promise<void> {
  const delay = Math.min(socket.settings.drainDelay, scope.drainTimeout)
  const until = clock.now() + scope.drainTimeout
  const over = new AbortController()
  socket.noLongerReady()
  // what comes meanwhile follows the sessions
  const handedOver = server.handOver?.(over.signal).catch(() => {})
  if (delay > 0) await pause(delay, clock)
  limits.closing = true
  socket.server?.stopListening()
  exchanges.endStreams()
  server.drain()
  await exchanges.whenEmpty(until - clock.now(), clock)
  // clients that have gone cannot come back any more, but their requests are finished
  await socket.log?.whenFinished(Math.max(0, until - clock.now()), clock)
  await within(handedOver, until - clock.now(), clock)
  over.abort()
  exchanges.interrupt(stopping)
  await exchanges.whenEmpty(flushTime, clock)
  await within(server.handedOver?.(), Math.max(flushTime, until - clock.now()), clock)
}

async function within(ending: Promise<void> | undefined, ms: number, clock: Clock): Promise<void> {
  if (ending === undefined) return
  await waitWithin<void>({ clock, ms: Math.max(0, ms), late: () => {} }, (resolve) => {
    resolve(ending)
    return undefined
  })
}

class HttpExchanges {
  readonly #all = new TurnoverSet<HttpExchange>()
  readonly #clients: ClientCounts<HttpExchange>
  #onEmpty: (() => void) | null = null

  constructor(clients: ClientCounts<HttpExchange>) {
    this.#clients = clients
  }

  get size(): number {
    return this.#all.size
  }

  add(exchange: HttpExchange): void {
    this.#all.add(exchange)
    exchange.whenOver(() => {
      this.#all.delete(exchange)
      this.#clients.leave(exchange)
      if (this.#all.size === 0) this.#onEmpty?.()
    })
  }

  beat(beats: Beats): void {
    for (const exchange of this.#all) exchange.beat(beats)
  }

  keepAlive(world: World): void {
    for (const exchange of this.#all) {
      // a stream of a session ends when the authorization of its reader does
      if (exchange.isListening && hasExpired(exchange.peer.principal, world)) exchange.finish(200)
      else {
        exchange.keepAlive()
        guard(exchange.token, () => exchange.checkToken())
      }
    }
  }

  endStreams(): void {
    for (const exchange of this.#all) if (exchange.isListening) exchange.finish(200)
  }

  retire(): void {
    for (const exchange of this.#all) guard(exchange.token, () => exchange.retire())
  }

  interrupt(why: string): void {
    for (const exchange of this.#all) exchange.interrupt(why)
  }

  whenEmpty(timeout: number, clock: Clock): Promise<void> {
    if (this.#all.size === 0) return Promise.resolve()
    return waitWithin<void>({ clock, ms: timeout, late: () => {} }, (resolve) => {
      this.#onEmpty = () => resolve()
    })
  }
}

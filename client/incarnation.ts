import { buildRequest } from '../protocol/jsonrpc.js'
import type { Deferred } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { crash } from '../runtime/exit.js'
import { describe } from '../runtime/inspect.js'
import { TransportError } from '../transports/errors.js'
import { actorClock } from './actor-clock.js'
import { ClientLink } from './client-link.js'
import { type Connection, type ConnectionEffects, startConnection } from './client-machine.js'
import { ClientError, failedError } from './errors.js'
import { initializeRequest } from './handshake.js'
import type { Holdings } from './holdings.js'
import { transportName } from './names.js'
import type { ClientSettings } from './options.js'
import { PendingCalls } from './pending.js'

/** What the actor of a client is started with. */
export interface ClientInput {
  readonly settings: ClientSettings
  readonly holdings: Holdings
}

/** What one incarnation of a client's actor knows; it is lost with it, while the holdings are not. */
export class Incarnation {
  readonly settings: ClientSettings
  readonly holdings: Holdings
  readonly link: ClientLink
  readonly calls: PendingCalls
  readonly connection: Connection
  /** The id of the `initialize` that waits for its answer. */
  greeting: number | undefined
  /** The id of the `ping` that shows whether a server that could not be reached is there again. */
  probe: number | undefined
  /** Those who wait for the connection to end. */
  closing: Deferred<void>[] = []

  constructor({ settings, holdings }: ClientInput, ctx: ActorContext) {
    const clock = actorClock(ctx)
    this.settings = settings
    this.holdings = holdings
    this.link = new ClientLink(ctx.registry, transportName(settings.name))
    this.calls = new PendingCalls(this.link, clock, holdings.counts, () => this.connection.state.reason)
    const timedOut = (what: string): Error => {
      const message = `${what} did not come within ${settings.handshakeTimeout} ms`
      return new ClientError('CONNECT_FAILED', message, { retryable: true })
    }
    this.connection = startConnection(settings, timedOut, effects(this, ctx), clock)
  }

  [describe](): string {
    const { waiting, inFlight } = this.calls
    return `${this.connection.phase}, ${inFlight} in flight, ${waiting} waiting`
  }
}

function effects(state: Incarnation, ctx: ActorContext): ConnectionEffects {
  const { holdings, settings } = state
  return {
    open() {
      if (state.link.held) probe(state)
      else state.link.open()
    },
    greet() {
      state.greeting = state.calls.nextId()
      state.link.tell(initializeRequest(state.greeting, settings.clientInfo))
    },
    flush: () => state.calls.flush(),
    hangUp: () => dropLink(state),
    fail: (reason) => state.calls.failWaiting((job) => failedError(job.method, reason)),
    tell: (next) => holdings.tell(next),
    crash: (error) => ctx.exit(ctx.self, crash(error)),
  }
}

/** The session may still be good: a sign of life is enough to go on with it. */
function probe(state: Incarnation): void {
  state.probe = state.calls.nextId()
  state.link.tell(buildRequest(state.probe, 'ping'))
}

/** The server cannot be reached now: the machine waits, and the connection is kept. */
export function unreachable(state: Incarnation, reason: Error): void {
  state.probe = undefined
  state.connection.send({ type: 'unreachable', reason })
}

/** The connection is over: whoever waits for an answer on it is told, and the machine decides how it goes on. */
export function ended(state: Incarnation, reason: Error, fatal: boolean): void {
  const fresh = reason instanceof TransportError && reason.code === 'SESSION_NOT_FOUND'
  state.link.forget()
  state.greeting = undefined
  state.probe = undefined
  state.calls.linkEnded(reason, { sessionGone: fresh, fatal })
  state.connection.send({ type: 'lost', reason, fatal, fresh })
  for (const reply of state.closing.splice(0)) reply.resolve()
}

/** The handshake came to nothing: this connection is of no use. */
export function refused(state: Incarnation, reason: Error, fatal: boolean): void {
  dropLink(state)
  state.connection.send({ type: 'lost', reason, fatal, fresh: false })
}

function dropLink(state: Incarnation): void {
  state.greeting = undefined
  state.probe = undefined
  state.link.close()
  state.link.forget()
  // Between the loss and the next greeting nothing is in flight but what an earlier, resumed connection left behind.
  state.calls.linkEnded(
    new TransportError('CONNECTION_LOST', 'the connection was given up', { retryable: true }),
    { sessionGone: false, fatal: false },
  )
}

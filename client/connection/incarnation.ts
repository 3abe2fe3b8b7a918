import type { Deferred } from '../../runtime/process/behaviour.js'
import type { World } from '../../runtime/time/world.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { crash } from '../../runtime/base/exit.js'
import { describe } from '../../runtime/watch/inspect.js'
import { latestHandshake } from '../../protocol/dialects/versions.js'
import { backoffIn, type BackoffOptions } from '../base/backoff.js'
import { ClientError, failedError } from '../base/errors.js'
import { transportName } from '../base/names.js'
import { type CallHost, Calls } from '../calls/calls.js'
import { ClientLink } from '../calls/client-link.js'
import { isSent } from '../calls/job.js'
import { plainSpeech, type Speech } from '../calls/speech.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'
import { actorWorld, DueTimer } from './actor-clock.js'
import type { Connection, ConnectionHost, startConnection } from './client-machine.js'
import { askAnew, type Greeting, greet } from './greeting.js'
import { Health } from './health.js'
import { dropLink, unreachable } from './link-end.js'
import { changes, Listening } from './listening.js'
import { SlowServerWarning } from './slow-server.js'
import { Questions } from './questions.js'
import { TaskListening } from './task-listening.js'
import { UnreadAnswers } from './unread.js'
import { WishTelling } from './wish-telling.js'

export interface ClientInput {
  readonly settings: ClientSettings
  readonly holdings: Holdings
}

/** The state of one incarnation of the actor; lost in a crash, unlike the holdings. */
export class Incarnation implements CallHost {
  readonly settings: ClientSettings
  readonly holdings: Holdings
  /** Its timers are messages to the actor. */
  readonly world: World
  readonly backoff: Required<BackoffOptions>
  readonly link: ClientLink
  readonly calls: Calls
  readonly connection: Connection
  readonly listening: Listening
  readonly taskListening: TaskListening
  readonly wishTelling: WishTelling
  readonly questions: Questions
  readonly health: Health
  readonly slowServer: SlowServerWarning
  /** Runs a function as a message to the actor; after its end, not at all. */
  readonly post: (fn: () => void) => void
  speech: Speech = plainSpeech(latestHandshake)
  /** The handshake, until it is answered. */
  greeting: Greeting | undefined
  /** `counts.junk` at the start of this connection. */
  junkBefore = 0
  /** The first junk of this connection, in quotes. */
  firstJunk: string | undefined
  /** What happens to a connection happens behind the answers that it has brought. */
  readonly unread = new UnreadAnswers()
  /** Waiting calls of `close`. */
  closing: Deferred<void>[] = []

  constructor({ settings, holdings }: ClientInput, ctx: ActorContext, start: typeof startConnection) {
    this.settings = settings
    this.holdings = holdings
    this.world = actorWorld(ctx)
    this.backoff = backoffIn(this.world, settings.backoff)
    this.link = new ClientLink(ctx.registry, transportName(settings.name), holdings)
    this.post = (fn) => {
      if (ctx.self.alive) ctx.self.send(new DueTimer(fn))
    }
    this.calls = new Calls(this, this.world)
    this.listening = new Listening(this, changes)
    this.taskListening = new TaskListening(this)
    this.wishTelling = new WishTelling(this)
    this.questions = new Questions(this)
    this.health = new Health(this)
    this.slowServer = new SlowServerWarning(this)
    const { name, inspect, handshakeTimeout, transport } = settings
    const spawns = transport.spawns === true
    const options = { name, inspect, handshakeTimeout, spawns, backoff: this.backoff }
    this.connection = start(options, hostOf(this, ctx), this.world)
    ctx.own(holdings.demand.onBegin(() => this.post(() => this.#awaited())))
    if (holdings.demand.any) this.slowServer.begin()
    ctx.own(holdings.taskNews.onLasting(() => this.post(() => this.taskListening.changed())))
  }

  misfit(error: Error): void {
    askAnew(this, error)
  }

  #awaited(): void {
    this.connection.send({ type: 'awaited' })
    this.slowServer.begin()
  }

  [describe](): string {
    const { waiting, inFlight } = this.calls
    return `${this.connection.phase}, ${inFlight} in flight, ${waiting} waiting`
  }
}

function hostOf(state: Incarnation, ctx: ActorContext): ConnectionHost {
  const { holdings, settings, world } = state
  let retryTimer: unknown
  return {
    awaited: () => state.calls.waiting > 0 || holdings.demand.any,
    timedOut: (what) => timedOut(state, what),
    open() {
      state.junkBefore = holdings.counts.junk
      state.firstJunk = undefined
      if (state.link.held) probe(state)
      else state.link.open()
    },
    greet: () => greet(state),
    flush() {
      state.slowServer.end()
      sayWishes(state)
      state.calls.flush()
      state.health.start()
    },
    hangUp: () => dropLink(state),
    fail(reason) {
      state.calls.failWaiting((job) => failedError(job.method, reason, isSent(job)))
      const { retryFailed } = settings
      if (retryFailed === undefined || retryFailed === Number.POSITIVE_INFINITY) return
      world.clearTimeout(retryTimer)
      // only half of it is chance: clients of one server do not come back together, and none comes back soon
      retryTimer = world.setTimeout(
        () => {
          if (state.connection.phase === 'failed') state.connection.send({ type: 'reconnect' })
        },
        retryFailed * (0.5 + state.backoff.random() / 2),
      )
    },
    tell: (next) => holdings.tell(next),
    unexpected(event, phase) {
      holdings.counts.unexpected += 1
      const reason = `the event ${event} is none that a client expects while it is ${phase}`
      holdings.reports.warn('unexpected_event', reason)
    },
    crash: (error) => ctx.exit(ctx.self, crash(error)),
  }
}

/** Any answer to a ping shows that the session is still good. */
function probe(state: Incarnation): void {
  state.calls.ask({
    method: 'ping',
    timeout: Number.POSITIVE_INFINITY, // the machine has one
    done: (outcome) => {
      if (outcome.type === 'lost') unreachable(state, outcome.error)
      else state.connection.send({ type: 'resumed' })
    },
  })
}

/**
 * Tells wishes before calls that waited, without an answer. In 2026-07-28 requests carry the level, and the
 * filter of one stream carries the rest.
 */
function sayWishes(state: Incarnation): void {
  const { speech } = state
  if (!speech.dialect.handshake) {
    state.taskListening.changed()
    return state.listening.begin()
  }
  state.wishTelling.begin()
}

function timedOut({ greeting, holdings, settings, junkBefore, firstJunk }: Incarnation, what: string): Error {
  const asked = greeting?.step === 'discover' ? what.replace('initialize', 'server/discover') : what
  const junk = holdings.counts.junk - junkBefore
  const first = firstJunk === undefined ? '' : `: ${firstJunk}`
  const instead = junk === 0 ? '' : `, ${junk} texts did that are no messages of MCP${first}`
  const message = `${asked} did not come within ${settings.handshakeTimeout} ms${instead}`
  return new ClientError('CONNECT_FAILED', message, { retryable: true })
}

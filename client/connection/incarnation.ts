import type { Deferred } from '../../runtime/process/behaviour.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { crash } from '../../runtime/base/exit.js'
import { describe } from '../../runtime/watch/inspect.js'
import { hasCapability } from '../../protocol/dialects/capabilities.js'
import { latestHandshake } from '../../protocol/dialects/versions.js'
import { actorClock, DueTimer } from '../base/actor-clock.js'
import type { CallPort } from '../calls/call-port.js'
import { ClientLink } from '../calls/client-link.js'
import type { Connection, ConnectionEffects, startConnection } from './client-machine.js'
import { ClientError, failedError } from '../base/errors.js'
import { askAnew, type Greeting, greet } from './greeting.js'
import { Health } from './health.js'
import type { Holdings } from '../holdings/holdings.js'
import { isSent } from '../calls/job.js'
import { dropLink, unreachable } from './link-end.js'
import { Listening } from './listening.js'
import { transportName } from '../base/names.js'
import type { ClientSettings } from '../options/options.js'
import { type OwnOutcome, OwnRequests } from '../calls/own-requests.js'
import { PendingCalls } from '../calls/pending.js'
import { Questions } from './questions.js'
import { plainSpeech, type Speech } from '../calls/speech.js'
import { wishedLevel, wishedUris } from '../holdings/wishes.js'

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
  readonly clock: Clock
  readonly own: OwnRequests
  readonly listening: Listening
  readonly questions: Questions
  readonly health: Health
  /** Runs a function as a message to the actor; after its end, not at all. */
  readonly post: (fn: () => void) => void
  /** How requests are put on this connection. */
  speech: Speech = plainSpeech(latestHandshake)
  /** What a connection began with, until it is answered. */
  greeting: Greeting | undefined
  /** What had come before this connection that was no message. */
  junkBefore = 0
  /** The first of them that is no message at all, in quotes. */
  babble: string | undefined
  /** Those who wait for the connection to end. */
  closing: Deferred<void>[] = []

  constructor({ settings, holdings }: ClientInput, ctx: ActorContext, start: typeof startConnection) {
    const clock = actorClock(ctx)
    this.settings = settings
    this.holdings = holdings
    this.link = new ClientLink(ctx.registry, transportName(settings.name), holdings)
    this.clock = clock
    this.post = (fn) => {
      if (ctx.self.alive) ctx.self.send(new DueTimer(fn))
    }
    this.own = new OwnRequests(this.link, clock)
    this.calls = new PendingCalls(portOf(this), clock)
    this.listening = new Listening(this)
    this.questions = new Questions(this)
    this.health = new Health(this)
    const timedOut = (what: string): Error => {
      const asked = this.greeting?.step === 'discover' ? what.replace('initialize', 'server/discover') : what
      const junk = holdings.counts.junk - this.junkBefore
      const first = this.babble === undefined ? '' : `: ${this.babble}`
      const instead = junk === 0 ? '' : `, ${junk} texts did that are no messages of MCP${first}`
      const message = `${asked} did not come within ${settings.handshakeTimeout} ms${instead}`
      return new ClientError('CONNECT_FAILED', message, { retryable: true })
    }
    const { demand } = holdings
    const awaited = (): boolean => this.calls.waiting > 0 || demand.any
    this.connection = start(settings, { facts: { awaited, timedOut }, effects: effects(this, ctx) }, clock)
    ctx.own(demand.onBegin(() => this.post(() => this.connection.send({ type: 'awaited' }))))
  }

  [describe](): string {
    const { waiting, inFlight } = this.calls
    return `${this.connection.phase}, ${inFlight} in flight, ${waiting} waiting`
  }
}

function portOf(state: Incarnation): CallPort {
  const { holdings, link, settings } = state
  return {
    link,
    maxInFlight: settings.maxInFlight,
    counts: holdings.counts,
    tools: holdings.tools,
    budget: holdings.budget,
    get speech() {
      return state.speech
    },
    get speaks() {
      return state.connection.phase === 'ready'
    },
    get state() {
      return state.connection.state
    },
    misfit: (error) => askAnew(state, error),
  }
}

function effects(state: Incarnation, ctx: ActorContext): ConnectionEffects {
  const { holdings, settings } = state
  let mending: unknown
  return {
    open() {
      state.junkBefore = holdings.counts.junk
      state.babble = undefined
      if (state.link.held) probe(state)
      else state.link.open()
    },
    greet: () => greet(state),
    flush() {
      sayWishes(state)
      state.calls.flush()
      state.health.start()
    },
    hangUp: () => dropLink(state),
    fail(reason) {
      state.calls.failWaiting((job) => failedError(job.method, reason, isSent(job)))
      const { retryFailed, backoff } = settings
      if (retryFailed === undefined || retryFailed === Number.POSITIVE_INFINITY) return
      if (mending !== undefined) state.clock.clearTimeout(mending)
      // only half of it is chance: clients of one server do not come back together, and none comes back soon
      mending = state.clock.setTimeout(
        () => {
          mending = undefined
          if (state.connection.phase === 'failed') state.connection.send({ type: 'reconnect' })
        },
        retryFailed * (0.5 + backoff.random() / 2),
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

/**
 * Says the wishes to the server of a new session, before any call that waited. Nobody waits for the answers:
 * what a server refuses now it would have refused then. In 2026-07-28 the level travels with each request,
 * and the rest is the filter of one stream.
 */
function sayWishes(state: Incarnation): void {
  const { holdings, speech, own, calls, settings } = state
  if (!speech.dialect.handshake) return state.listening.begin()
  const level = wishedLevel(holdings.wishes)
  const capabilities = holdings.server?.capabilities ?? {}
  const say = (method: string, params: Record<string, unknown>): void =>
    own.send(speech, { id: calls.nextId(), method, params, timeout: settings.timeout, done: () => {} })
  if (level !== undefined && hasCapability(capabilities, 'logging')) say('logging/setLevel', { level })
  if (!hasCapability(capabilities, 'resources.subscribe')) return
  for (const uri of wishedUris(holdings.wishes)) say('resources/subscribe', { uri })
}

/** The session may still be good: a sign of life is enough to go on with it. */
function probe(state: Incarnation): void {
  const done = (outcome: OwnOutcome): void => {
    if (outcome.type === 'lost') unreachable(state, outcome.error)
    else state.connection.send({ type: 'resumed' })
  }
  const timeout = Number.POSITIVE_INFINITY // the machine's
  state.own.send(state.speech, { id: state.calls.nextId(), method: 'ping', params: undefined, timeout, done })
}

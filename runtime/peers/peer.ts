import { RuntimeError } from '../base/errors.js'
import { waitWithin } from '../time/wait.js'
import type { ExitReason } from '../base/exit.js'
import { styleOf } from '../faults/log.js'
import { type Behaviour, defineActor } from '../process/behaviour.js'
import { type Ignore, ignore, type Program } from '../process/program.js'
import type { ActorContext } from '../process/context.js'
import { processOf } from '../process/ref.js'
import { type ChildOverrides, type ChildSpec, childSpec } from '../supervision/child-spec.js'
import { Elsewhere, elsewhere, type Question } from '../watch/elsewhere.js'
import { describe } from '../watch/inspect.js'
import { Border, cloneError, endOverThere, type StandIn, standingIn } from './border.js'
import { connect, type Connection } from './connection.js'
import type { BorderMessage } from './messages.js'
import { type PeerOptions, type PeerSettings, readPeerOptions } from './options.js'

/** What is sent to an actor of this behaviour can be sent to the peer that runs it. */
type Remote<B> =
  B extends Behaviour<infer State, infer _Input, infer Calls, infer Casts>
    ? Behaviour<State, undefined, Calls, Casts>
    : never

/**
 * The behaviour of an actor that runs in a thread or process of its own: start it like any other, with
 * `childSpec`, `ctx.start` or `startActor`, and give it time: node has to start. Its reference is that of the
 * actor over there: calls, casts, links, monitors, exits and stops reach it, and it may be given references
 * to actors of this side. Values are copied (structured clone); one that cannot be is NOT_CLONEABLE for
 * whoever sends it. When the thread or process is gone, it ends with `noconnection`, and calls that wait
 * reject with NOCONNECTION (`data.sent` is true). What it prints goes to standard error. Throws BAD_OPTION,
 * also in a bundle of the program, which has no files that it could run.
 *
 * `definePeer<typeof hasher>({ kind: 'process', module: new URL('./hasher.js', import.meta.url) })` has the
 * types of the module's behaviour. (OTP: peer.)
 */
export function definePeer<B = Program>(options: PeerOptions): Remote<B> {
  const settings = readPeerOptions(options)
  const behaviour = defineActor({
    name: settings.name,
    async init(_input: undefined, ctx): Promise<PeerState | Ignore> {
      const peer = new Peer(settings, ctx)
      return (await peer.start()) ?? peer
    },
    terminate: endOverThere,
  })
  return standingIn(behaviour as unknown as Program) as unknown as Remote<B>
}

/**
 * The child spec of a peer, for a supervisor: `definePeer` with the id, restart type and shutdown time of any
 * child. Default `startTimeout` 30,000 ms, as node has to start. Throws BAD_OPTION or BAD_SPEC.
 */
export function peerSpec(options: PeerOptions, overrides: ChildOverrides = {}): ChildSpec {
  const behaviour = definePeer(options) as unknown as Behaviour<unknown, undefined>
  return childSpec(behaviour, undefined, { startTimeout: 30_000, ...overrides })
}

/** Shown to viewers of this side. */
interface PeerState {
  readonly [elsewhere]: readonly [Elsewhere]
  [describe](): string
}

/** The actor that stands in for a peer's: it owns the thread or process, and ends with it. */
class Peer implements PeerState {
  readonly [elsewhere]: readonly [Elsewhere]
  readonly #border: Border
  readonly #settings: PeerSettings
  readonly #host: StandIn
  readonly #ctx: ActorContext
  readonly #connection: Connection
  readonly #started: Settleable<BorderMessage | RuntimeError>
  /** Everything over there has ended in order. */
  readonly #over = settled<void>()
  /** Its actor could not be started. */
  #hasFailed = false
  /** Looks at the peer since its loop has turned, and since anything came from it. */
  #looks = 0
  #silence = 0
  /** Why it is killed, if it is. */
  #verdict: RuntimeError | undefined

  constructor(settings: PeerSettings, ctx: ActorContext) {
    this.#settings = settings
    this.#ctx = ctx
    this.#host = processOf(ctx.self) as StandIn
    this.#started = settled()
    this.#connection = connect(settings, {
      message: ctx.bind((message) => this.#receive(message)),
      gone: (error) => this.#gone(error),
    })
    this.#border = new Border(this.#host, this.#connection)
    this.#border.errors = settings.errors
    const ask = (question: Question): boolean => {
      this.#connection.post({ type: 'look', question })
      return true
    }
    this[elsewhere] = [new Elsewhere({ ask })]
    ctx.own(() => this.#release())
    if (settings.memory !== undefined) this.#weigh()
  }

  /** Resolves when the actor of the module is up, or declines; throws why it is not. */
  async start(): Promise<Ignore | undefined> {
    const { module, args, name, blockedTimeout, maxMessageBytes } = this.#settings
    const { logger, logLevels } = this.#host.tree.logging
    const style = styleOf(logger)
    const what = `${name}: args`
    try {
      this.#connection.post({
        type: 'start',
        module,
        name,
        maxMessageBytes,
        reports: Number.isFinite(blockedTimeout),
        log: { style: typeof style === 'object' ? 'json' : style, logLevels },
        args: this.#border.pack(args, what),
      })
    } catch (error) {
      // nothing was started over there
      this.#over.settle()
      throw cloneError(error, what)
    }
    const answer = await this.#started.promise
    if (answer instanceof Error) throw answer
    if (answer.type === 'failed') return this.#failed(this.#border.unpack(answer.error))
    if (answer.type === 'ready') this.#border.represent(this.#host, answer.main)
    this.#look()
    return undefined
  }

  [describe](): string {
    const { kind } = this.#settings
    const { id } = this.#connection
    const [{ health }] = this[elsewhere]
    return `${kind}${id === undefined ? '' : ` ${id}`}${health === undefined ? '' : `, ${health}`}`
  }

  /** Declines, stops or fails as the actor over there did. */
  #failed(error: unknown): Ignore | undefined {
    if (!(error instanceof RuntimeError)) throw error
    if (error.code === 'IGNORED') return ignore
    const { reason } = (error.data ?? {}) as { readonly reason?: ExitReason }
    if (error.code !== 'START_FAILED' || reason === undefined) throw error
    if (reason.type === 'crash') throw reason.error
    this.#ctx.stop(reason)
    return undefined
  }

  #receive(message: BorderMessage): void {
    switch (message.type) {
      case 'pong':
        this.#looks = 0
        this.#silence = 0
        return this.#judge(message.memory)
      case 'seen':
        return this[elsewhere][0].take(message.report, this.#ctx.clock.now())
      case 'over':
        this.#started.settle(this.#ended())
        return this.#over.settle()
      case 'failed':
        this.#hasFailed = true
        return this.#started.settle(message)
      case 'ready':
        return this.#started.settle(message)
      default:
        this.#silence = 0
        return this.#border.receive(message)
    }
  }

  /**
   * Asks now and then whether its loop turns. Counts looks, not time: a pause of this program is none of the
   * peer. The answer of one that sends much has to wait, so it has four times as long: not for ever, as code
   * that spins may send, too.
   */
  #look(): void {
    const { name, kind, blockedTimeout } = this.#settings
    if (!Number.isFinite(blockedTimeout)) return
    if (this.#looks >= (this.#silence >= looks ? looks : 4 * looks)) {
      const message = `peer ${name}: its event loop was blocked for more than ${blockedTimeout} ms: it was killed`
      return this.#kill(message, kind, 'blocked')
    }
    this.#looks += 1
    this.#silence += 1
    this.#connection.post({ type: 'ping' })
    this.#ctx.clock.setTimeout(() => this.#look(), blockedTimeout / looks)
  }

  /** Where its memory cannot be seen from here, it is asked. */
  #weigh(): void {
    this.#ctx.clock.setTimeout(() => this.#weigh(), weighed)
    this.#connection.memory().then(
      (bytes) => (bytes === undefined ? this.#connection.post({ type: 'ping' }) : this.#judge(bytes)),
      () => this.#connection.post({ type: 'ping' }),
    )
  }

  #judge(bytes: number): void {
    const { name, kind, memory = Number.POSITIVE_INFINITY } = this.#settings
    if (bytes > memory)
      this.#kill(`peer ${name}: it took ${bytes} bytes of ${memory}: it was killed`, kind, 'memory')
  }

  #kill(message: string, kind: PeerSettings['kind'], why: 'blocked' | 'memory'): void {
    const data = { peer: this.#settings.name, kind, why, sent: true }
    this.#verdict ??= new RuntimeError('NOCONNECTION', message, { retryable: true, data })
    this.#gone(this.#verdict)
  }

  /** The connection has ended, or is given up. */
  #gone(error: RuntimeError): void {
    this.#over.settle()
    this.#started.settle(error)
    const reason: ExitReason = { type: 'noconnection', error: this.#verdict ?? error }
    this.#border.close(reason)
    // its own error is about to be told, and says more
    if (!this.#hasFailed) this.#host.end(reason)
  }

  /**
   * A successor starts when this one is gone: an actor that ended in order has time to let go of what it had.
   */
  async #release(): Promise<void> {
    const { clock } = this.#host.tree
    this.#border.close({ type: 'noconnection', error: this.#ended() })
    if (this.#host.reason?.type !== 'killed')
      await waitWithin(
        { clock, ms: releaseTimeout, late: () => {} },
        (resolve) => void this.#over.promise.then(resolve),
      )
    this.#connection.kill()
    await this.#connection.ended
  }

  #ended(): RuntimeError {
    const { name, kind } = this.#settings
    const data = { peer: name, kind, why: 'ended' }
    return new RuntimeError('NOCONNECTION', `peer ${name} has ended`, { retryable: true, data })
  }
}

/** In how many steps the time is counted in which nothing is heard of a peer. */
const looks = 4

/** Milliseconds between two looks at its memory. */
const weighed = 250

/** Milliseconds for the release of what the actor of the other side owned. */
const releaseTimeout = 4_000

interface Settleable<T> {
  readonly promise: Promise<T>
  readonly settle: (value: T) => void
}

function settled<T>(): Settleable<T> {
  let settle = (_value: T): void => {}
  const promise = new Promise<T>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}

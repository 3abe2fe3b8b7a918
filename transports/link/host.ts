import { setMaxListeners } from 'node:events'
import type { Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import { isRequest } from '../../protocol/wire/jsonrpc.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type Owned, releaseOf } from '../../runtime/process/owned.js'
import type { World } from '../../runtime/time/world.js'
import { messageOf } from '../../runtime/base/errors.js'
import type {
  ClientTransport,
  Link,
  LinkEnd,
  LinkEvents,
  LinkScope,
  SendOptions,
} from '../contract/contract.js'
import { TransportError, type TransportErrorCode } from '../base/errors.js'
import type { LinkGauge } from './gauge.js'

/** Receives the events of one connection, with its number: late events of an old one can be ignored. */
export interface LinkReport {
  opened(link: number, detail: Readonly<Record<string, unknown>>): void
  /** False when the client has no room for it. */
  message(link: number, text: string): boolean
  /** Whether many messages wait for the client. */
  crowded(): boolean
  lost(link: number, id: RequestId, error: TransportError): void
  trouble(link: number, error: TransportError): void
  missed(link: number): void
  closed(link: number, end: LinkEnd): void
}

/** Milliseconds that a connection may take to close; then its resources are released. */
const closeTimeout = 6_000

/** One connection of any transport: its throws become TransportErrors, its end is told once and last. */
export class HostedLink {
  readonly number: number
  /** Resolves when the connection is over and its resources are released, at most 6 s later. */
  readonly finished: Promise<void>
  readonly #report: LinkReport
  readonly #gauge: LinkGauge
  readonly #hosted: HostedScope
  readonly #world: World
  #link: Link | undefined
  readonly #queuedBytes = (): number => this.#link?.queuedBytes ?? 0
  #over = false
  #closing = false
  /** One for all messages that come meanwhile: a chunk has thousands. */
  #crowd: Promise<void> | undefined
  #closeTimer: unknown
  #detail: Readonly<Record<string, unknown>> | undefined
  // Assigned by the executor in the constructor, which runs at once.
  #finish: () => void = () => {}

  constructor(number: number, report: LinkReport, gauge: LinkGauge, ctx: ActorContext) {
    this.number = number
    this.#report = report
    this.#gauge = gauge
    this.#world = ctx.world
    this.#hosted = createLinkScope(ctx, (cause) =>
      this.#trouble(wrap('CONNECTION_LOST', 'clean-up failed', cause)),
    )
    this.finished = new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  get over(): boolean {
    return this.#over
  }

  get detail(): Readonly<Record<string, unknown>> | undefined {
    return this.#detail
  }

  /** Begins the connection; a throw of the transport is a fatal end. Never rejects. */
  connect(transport: ClientTransport): undefined | Promise<void> {
    const failed = (cause: unknown): void =>
      this.#end({ error: wrap('CONNECT_FAILED', `${transport.name} could not connect`, cause), fatal: true })
    try {
      const link = transport.connect(this.#events(), this.#hosted.scope)
      if (link instanceof Promise) return link.then((loaded) => this.#begun(loaded, transport)).catch(failed)
      this.#begun(link, transport)
    } catch (cause) {
      failed(cause)
    }
    return undefined
  }

  #begun(link: Link, { name }: ClientTransport): void {
    if (typeof link?.send !== 'function' || typeof link.close !== 'function')
      throw new TransportError('CONNECT_FAILED', `${name}: connect: expected a link with send and close`)
    if (this.#over) return
    this.#link = link
    this.#gauge.attach(this.#queuedBytes)
  }

  /** Hands over a message; false without a connection. A request that the transport throws at is lost. */
  send(text: string, message: Message, options?: SendOptions): boolean {
    if (this.#over || this.#link === undefined) return false
    this.#gauge.sent += 1
    this.#gauge.sentCharacters += text.length
    try {
      this.#link.send(text, message, options)
    } catch (cause) {
      const error = couldNotSend(cause)
      if (isRequest(message)) this.#report.lost(this.number, message.id, error)
      else this.#trouble(error)
    }
    return true
  }

  abort(id: RequestId): void {
    this.#call((link) => link.abort?.(id), 'CONNECTION_LOST', 'the transport could not give a request up')
  }

  negotiated(revision: string): void {
    const problem = `the transport could not take over revision ${revision}`
    this.#call((link) => link.negotiated?.(revision), 'BAD_RESPONSE', problem)
  }

  /** Ends the connection in an orderly way, within `closeTimeout` whatever the transport does. */
  close(): void {
    if (this.#over || this.#closing) return
    this.#closing = true
    this.#closeTimer = this.#world.setTimeout(() => this.#end({}), closeTimeout)
    const isCalled = this.#call((link) => link.close(), 'CONNECTION_LOST', 'the transport could not close')
    if (!isCalled) this.#end({})
  }

  /** Calls the transport, if there is a connection; false when it threw, which is told as trouble. */
  #call(fn: (link: Link) => void, code: TransportErrorCode, problem: string): boolean {
    if (this.#over || this.#link === undefined) return true
    try {
      fn(this.#link)
      return true
    } catch (cause) {
      this.#trouble(wrap(code, problem, cause))
      return false
    }
  }

  /** Ends the connection at once: its actor dies. */
  destroy(): Promise<void> | undefined {
    const alreadyReleasing = this.#over
    this.#over = true
    this.#drop()
    return alreadyReleasing ? this.finished : this.#hosted.release()
  }

  /** Those who still have the events of this connection do not keep it in memory. */
  #drop(): void {
    this.#gauge.detach(this.#queuedBytes)
    this.#link = undefined
  }

  #events(): LinkEvents {
    return Object.freeze({
      opened: (detail?: Readonly<Record<string, unknown>>) => {
        if (this.#over) return
        this.#detail = detail ?? {}
        this.#report.opened(this.number, this.#detail)
      },
      message: (text: string) => this.#message(text),
      lost: (id: RequestId, error: TransportError) => {
        if (!this.#over)
          this.#report.lost(this.number, id, wrap('CONNECTION_LOST', 'the request is lost', error))
      },
      trouble: (error: TransportError) =>
        this.#trouble(wrap('CONNECTION_LOST', 'the transport is in trouble', error)),
      missed: () => {
        if (!this.#over) this.#report.missed(this.number)
      },
      room: () => {
        if (!this.#report.crowded()) return undefined
        this.#crowd ??= this.#room()
        return this.#crowd
      },
      closed: (end?: LinkEnd) => this.#end(readEnd(end, this.#closing)),
    })
  }

  /** Polls: a client that works its mailbox off does not know that somebody waits. */
  async #room(): Promise<void> {
    do {
      await new Promise<void>((resolve) => void this.#world.setImmediate(resolve))
    } while (!this.#over && this.#report.crowded())
    this.#crowd = undefined
  }

  #message(text: unknown): void {
    if (this.#over) return
    if (typeof text !== 'string') {
      return this.#trouble(new TransportError('BAD_RESPONSE', `message: expected a text, got ${typeof text}`))
    }
    this.#gauge.received += 1
    this.#gauge.receivedCharacters += text.length
    if (this.#report.message(this.number, text)) return
    this.#end({
      error: new TransportError('CONNECTION_LOST', 'the server sends faster than the client can take', {
        retryable: true,
      }),
    })
  }

  #trouble(error: TransportError): void {
    this.#gauge.troubles += 1
    this.#report.trouble(this.number, error)
  }

  #end(end: LinkEnd): void {
    if (this.#over) return
    this.#over = true
    this.#drop()
    this.#world.clearTimeout(this.#closeTimer)
    const releasing = this.#hosted.release()
    this.#report.closed(this.number, end)
    if (releasing === undefined) return this.#finish()
    // A disposer that hangs must not keep the next connection from being made.
    const timer = this.#world.setTimeout(this.#finish, closeTimeout)
    void releasing.then(() => {
      this.#world.clearTimeout(timer)
      this.#finish()
    })
  }
}

function readEnd(end: LinkEnd | undefined, asked: boolean): LinkEnd {
  const { error, fatal } = end ?? {}
  if (error !== undefined)
    return { error: wrap('CONNECTION_LOST', 'the connection ended', error), fatal: fatal === true }
  if (asked) return {}
  const lost = new TransportError('CONNECTION_LOST', 'the connection ended', { retryable: fatal !== true })
  return { error: lost, fatal: fatal === true }
}

/** A throw of `send` breaks the contract: the message may have left. */
function couldNotSend(cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  const message = `the transport could not send: ${messageOf(cause)}`
  return new TransportError('SEND_FAILED', message, { cause, retryable: true, data: { sent: true } })
}

function wrap(code: TransportErrorCode, what: string, cause: unknown): TransportError {
  if (cause instanceof TransportError) return cause
  return new TransportError(code, `${what}: ${messageOf(cause)}`, { cause, retryable: true })
}

/** What one connection may use, and its undo. */
interface HostedScope {
  readonly scope: LinkScope
  /** Aborts the signal and releases the resources, newest first; undefined: nothing to wait for. */
  release(): Promise<void> | undefined
}

/** A scope of one connection: the actor must not collect the resources of all of them over years. */
function createLinkScope(ctx: ActorContext, failed: (error: unknown) => void): HostedScope {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // one for each answer whose rest is waited for
  const owned: Owned[] = []
  const scope: LinkScope = Object.freeze({
    signal: controller.signal,
    clock: ctx.clock,
    world: ctx.world,
    own<Resource extends Owned>(resource: Resource): Resource {
      owned.push(resource)
      return resource
    },
    bind: <Args extends unknown[], R>(fn: (...args: Args) => R) => ctx.bind(fn),
  })

  function release(): Promise<void> | undefined {
    controller.abort()
    const waiting: Promise<void>[] = []
    while (owned.length > 0) {
      const pending = dispose(owned.pop() as Owned)
      if (pending !== undefined) waiting.push(pending)
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => {})
  }

  function dispose(resource: Owned): Promise<void> | undefined {
    try {
      const result = releaseOf(resource)()
      return result instanceof Promise ? result.catch(failed) : undefined
    } catch (error) {
      failed(error)
      return undefined
    }
  }

  return { scope, release }
}

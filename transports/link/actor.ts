import type { Message, RequestId } from '../../protocol/wire/jsonrpc.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { emit } from '../../runtime/faults/events.js'
import { describe } from '../../runtime/watch/inspect.js'
import { NamedRef } from '../../runtime/process/registry.js'
import { processOf } from '../../runtime/process/ref.js'
import type { ClientTransport, LinkEnd, SendOptions } from '../contract/contract.js'
import type { TransportError } from '../base/errors.js'
import { LinkGauge } from './gauge.js'
import { HostedLink, type LinkReport } from './host.js'

/** The input of the transport actor of a client. */
interface LinkInput {
  readonly transport: ClientTransport
  /** The name of the actor that is told everything; looked up at every message, so it may be restarted. */
  readonly owner: string
  /** Counts what goes over its connections. Default: nothing is counted. */
  readonly gauge?: LinkGauge | undefined
}

/** How far one request got; shared by the client and the transport, which alone knows. */
export interface Ticket {
  /** True from the moment the transport has the message. */
  sent: boolean
  /** Set when it is not wanted any more: it is not sent, unless it was. */
  revoked: boolean
}

/** One message to be sent on one connection. */
interface Outgoing {
  readonly link: number
  readonly text: string
  readonly message: Message
  readonly ticket?: Ticket | undefined
  readonly options?: SendOptions | undefined
}

/** What the transport casts to its owner; `link` is the number that the owner gave the connection. */
export interface LinkNews {
  /** The transport's actor is there, and has no connection. */
  readonly attached: undefined
  readonly opened: { readonly link: number; readonly detail: Readonly<Record<string, unknown>> }
  readonly message: { readonly link: number; readonly text: string }
  readonly lost: { readonly link: number; readonly id: RequestId; readonly error: TransportError }
  readonly trouble: { readonly link: number; readonly error: TransportError }
  readonly missed: { readonly link: number }
  readonly closed: { readonly link: number; readonly end: LinkEnd }
}

/** The casts that an owner has to understand. */
type LinkOwnerCasts = {
  readonly [Name in keyof LinkNews]: (state: never, news: LinkNews[Name], ctx: ActorContext) => unknown
}

/** Messages that wait for a client before its server is to wait as well. */
const crowd = 1_000
/** Milliseconds until a cast is tried again that found the mailbox full. */
const retryTime = 10
/** Milliseconds in which the owner should have started. */
const ownerTime = 5_000

class LinkState {
  readonly input: LinkInput
  readonly owner: NamedRef<Record<never, never>, LinkOwnerCasts>
  readonly report: LinkReport
  readonly gauge: LinkGauge
  host: HostedLink | undefined

  constructor(input: LinkInput, ctx: ActorContext) {
    const owner = new NamedRef<Record<never, never>, LinkOwnerCasts>(ctx.registry, input.owner)
    this.input = input
    this.owner = owner
    this.gauge = input.gauge ?? new LinkGauge()
    // Outcomes of calls get through, also when the mailbox of the client is full.
    const { clock } = ctx
    const insist = (tell: () => boolean): void => {
      if (!tell() && owner.current !== undefined) clock.setTimeout(() => insist(tell), retryTime)
    }
    this.report = {
      opened: (link, detail) => owner.cast('opened', { link, detail }),
      message: (link, text) => owner.cast('message', { link, text }) || owner.current === undefined,
      crowded: () => owner.current !== undefined && processOf(owner.current).backlog > crowd,
      lost: (link, id, error) => insist(() => owner.cast('lost', { link, id, error })),
      trouble: (link, error) => owner.cast('trouble', { link, error }),
      missed: (link) => owner.cast('missed', { link }),
      closed: (link, end) => insist(() => owner.cast('closed', { link, end })),
    }
  }

  linkOf(number: number): HostedLink | undefined {
    return this.host?.number === number && !this.host.over ? this.host : undefined
  }

  [describe](): string {
    const { host, input } = this
    if (host === undefined || host.over) return `${input.transport.name}, no connection`
    const facts = Object.entries(host.detail ?? {}).map(([name, value]) => `${name} ${String(value)}`)
    return [input.transport.name, ...facts].join(', ')
  }
}

/** Hosts a client's connections, one at a time: contains what transports throw, releases what they hold. */
export const linkActor = defineActor({
  name: 'transport',
  trapExit: true,
  stray: 'report',
  init(input: LinkInput, ctx) {
    const state = new LinkState(input, ctx)
    ctx.own(() => state.host?.destroy())
    if (!state.owner.cast('attached')) ctx.sendAfter(ownerTime)
    return state
  },
  cast: {
    open(
      state: LinkState,
      { link }: { readonly link: number },
      ctx: ActorContext,
    ): undefined | Promise<void> {
      const old = state.host
      if (old === undefined || old.over) return connect(state, link, ctx)
      old.close()
      return old.finished.then(() => connect(state, link, ctx))
    },
    send(state: LinkState, { link, text, message, ticket, options }: Outgoing) {
      if (ticket?.revoked === true) return
      const sent = state.linkOf(link)?.send(text, message, options) ?? false
      if (ticket !== undefined && sent) ticket.sent = true
    },
    /** Nobody waits for the answer to a request any more. */
    abort(state: LinkState, { link, id }: { readonly link: number; readonly id: RequestId }) {
      state.linkOf(link)?.abort(id)
    },
    negotiated(state: LinkState, { link, revision }: { readonly link: number; readonly revision: string }) {
      state.linkOf(link)?.negotiated(revision)
    },
    close(state: LinkState, { link }: { readonly link: number }) {
      state.linkOf(link)?.close()
    },
  },
  info: {
    /** Says that the owner is missing, and waits on: a tree without the client would do nothing, silently. */
    timer({ owner, input }: LinkState, _payload: unknown, ctx: ActorContext) {
      if (owner.current !== undefined) return
      const detail = `nobody is called "${input.owner}" in this registry: the supervisor of transportSpec needs clientActorSpec of the same options as another child`
      emit('notice', () => ({ ...processOf(ctx.self).facts(), notice: 'owner_missing', detail }))
    },
  },
  terminate(state: LinkState, _reason, ctx) {
    const { host, input } = state
    // Without an owner the group restarts: its successor must not wait for a server that does not listen.
    if (host === undefined || host.over || ctx.registry.whereis(input.owner) === undefined) return undefined
    host.close()
    return host.finished
  },
})

function connect(state: LinkState, link: number, ctx: ActorContext): undefined | Promise<void> {
  const host = new HostedLink(link, state.report, state.gauge, ctx)
  state.host = host
  return host.connect(state.input.transport)
}

import type { UriTemplate } from '../../protocol/uri-template/uri-template.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
import type { Places } from '../../transports/base/places.js'
import type { TokenExchangeOptions } from '../../transports/auth/token-exchange.js'
import type { UpstreamLogin } from '../../transports/authorization/upstream-logins.js'
import type { UpstreamOptions } from './gateway-options.js'
import type { Principal } from '../../transports/contract/principal.js'

/** A client of a server behind a gateway, as far as a gateway needs it: `Client` is one. */
export interface Upstream {
  readonly name: string
  readonly state: { readonly phase: string; readonly reason: Error | undefined }
  readonly server:
    | {
        readonly info: Readonly<Implementation>
        readonly capabilities: ServerCapabilities
        readonly instructions: string | undefined
        readonly revision: string
      }
    | undefined
  request(method: string, params?: object, options?: UpstreamCall): Promise<object>
  callTool(name: string, args?: Record<string, unknown>, options?: UpstreamCall): Promise<object>
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  setLevel(level: LoggingLevel): Promise<void>
  onState(fn: (state: { readonly phase: string }) => void): () => void
  onNotification(method: string, fn: (params: Record<string, unknown>) => void): () => void
  /** Has one that has failed for good try again, as somebody else may have mended what was wrong. */
  reconnect?(): Promise<void>
  close(): Promise<void>
}

/** What a call to a server behind a gateway is made with. */
export interface UpstreamCall {
  readonly signal?: AbortSignal
  readonly fresh?: boolean
  readonly timeout?: number
  readonly totalTimeout?: number
  readonly resetOnProgress?: boolean
  /** Called with the place and the fault of each entry of a list that is left out for it. */
  readonly onBadEntry?: (problem: string) => void
  readonly onProgress?: (progress: {
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}

/**
 * Several of them, which may come and go: what `startClients` returns is such a set. Another value under a name is
 * another server.
 */
export interface Upstreams {
  readonly names: readonly string[]
  has(name: string): boolean
  get(name: string): Upstream | StartUpstream | StartedUpstream
  /** Calls `fn` when servers come, go or change, until the returned function is called. */
  onState(fn: (name: string) => void): () => void
  close(): Promise<void>
}

/** Who a client is started for. */
export interface Seat {
  /**
   * Options of a client that pass what its server asks (forms, pages, models, roots) to the client whose call is
   * under way: `startClient({ ...seat.answers(), transport })`, `startClients(servers, { client: seat.answers })`.
   * `name` is that of the server. Default: the one that is started.
   */
  readonly answers: (name?: string) => SeatAnswers
  /** The principal, with `per: 'principal'` or `'session'`: take credentials of its own for it. */
  readonly principal: Principal | undefined
  /** The id of the session, with `per: 'session'`. */
  readonly session: string | undefined
  /** Aborted when nobody waits for the client any more. */
  readonly signal: AbortSignal
  /**
   * Options of `oauth()` where the gateway signs users in (`auth: 'oauth'`): whose tokens they are, and how
   * their user signs in: `http(url, { auth: oauth(seat.login()) })`. Throws BAD_OPTION elsewhere.
   */
  readonly login: () => UpstreamLogin
  /**
   * For the option `auth` of a client where tokens are traded (`auth: { exchange }`): the token of the
   * principal for the server, or for nobody that of the client that trades. Rejects with TransportError
   * UNAUTHORIZED, and with BAD_OPTION elsewhere.
   */
  readonly token: (request?: { readonly refused?: string }) => Promise<string>
}

/** How a client answers its server: by asking the client of the gateway. */
export interface SeatAnswers {
  readonly onElicit: {
    readonly form: (params: object, ctx: SeatQuestion) => Promise<never>
    readonly url: (params: object, ctx: SeatQuestion) => Promise<never>
  }
  readonly onSample: {
    readonly run: (params: object, ctx: SeatQuestion) => Promise<never>
    readonly tools: true
    readonly context: true
  }
  readonly roots: (ctx: SeatQuestion) => Promise<never>
}

/** What is known of a question. */
export interface SeatQuestion {
  readonly signal: AbortSignal
  /** That of the call that the question belongs to, if its client knows. */
  readonly callSignal?: AbortSignal | undefined
}

/** Starts the client of a server. It may resolve before the client is ready. One that rejects is called again. */
export type StartUpstream = (seat: Seat) => Upstream | Promise<Upstream>

/** A server whose client the gateway starts, and closes. */
export interface StartedUpstream {
  readonly start: StartUpstream
  /**
   * For whom there is a client: all together, or one for each session or principal. Besides, one is started for
   * nobody, with neither in its seat: it tells what the server offers. That of a session ends with it. Default
   * `gateway`.
   */
  readonly per?: 'gateway' | 'session' | 'principal'
  /**
   * Clients at once. Default 100 where each session or principal has its own. All together have 1 by default; with
   * more, a call goes to the one with the fewest under way, and another one is started when all are at work.
   */
  readonly max?: number
  /**
   * Whether the client is started by the first call that needs it, and not with the gateway. As long as nothing is
   * known of its server, a list or a call of an unknown name starts it, too. Default false.
   */
  readonly lazy?: boolean
  /**
   * Milliseconds without a call until a client is closed; the next call starts it again, and what its server
   * offers stays listed. 0: it stays. The one of all that tells of a resource stays as long as somebody has
   * subscribed to it. Default 600,000; 0 for the one of all that is not `lazy`.
   */
  readonly idle?: number
  /**
   * How each principal is known to the server; wants `per: 'principal'`. `oauth`: each signs in there with a
   * browser, at the first call, and the gateway keeps the tokens (`seat.login`). `exchange`: the token that
   * the caller came with is traded for one (`seat.token`). Default: as `start` has it.
   */
  readonly auth?: 'oauth' | { readonly exchange: TokenExchangeOptions }
  /**
   * `shared`: what a server lists to one user who has signed in is shown to all callers. For servers that
   * list the same to everybody, and nothing without a sign-in. Default `own`: what it lists to nobody in
   * particular.
   */
  readonly lists?: 'own' | 'shared'
  /** What is offered of it, and what it is spared; `servers` of the gateway comes first. Default `{}`. */
  readonly options?: UpstreamOptions
}

/** What a server offers, as it tells it. */
export interface UpstreamLists {
  readonly tools: readonly JsonObject[]
  readonly resources: readonly JsonObject[]
  readonly templates: readonly JsonObject[]
  readonly prompts: readonly JsonObject[]
  /** Whether its tools were ever told, or it has none: others are not to be called unknown. */
  readonly toolsKnown?: boolean
  /** The same of its templates, if none of them is left out. */
  readonly templatesKnown?: boolean
  /** The gateways that entries came through, the nearest first, by list and what is listed. */
  readonly through?: Readonly<Record<string, readonly string[]>>
}

/** Whose a name or an address is that is listed here. */
export interface Owner {
  readonly server: string
  readonly kind: 'tool' | 'prompt' | 'resource' | 'resourceTemplate'
  /** What the server calls it. */
  readonly own: string
  /** Fits what a template fits. */
  readonly matcher: UriTemplate | undefined
}

/** What is known of a server. It outlives the process that watches its client. */
export interface UpstreamRecord {
  /** As of its last connection. */
  server: Upstream['server']
  /** Undefined until they are known. */
  lists: UpstreamLists | undefined
  /** Resources whose changes somebody wants to hear of, by the uris of the server. */
  readonly wanted: Map<string, WantedResource>
  /** Of these resources. */
  readonly places: Places
  /** Whether a client of it was ready before: what changed since then may be told by nobody. */
  wasReady: boolean
  /** Has the server tell no more of a resource. Whoever has its client now says how. */
  unwant: (uri: string, caller: string) => void
}

interface WantedResource {
  /** The uris here that it is wanted by, and how many want it by each. */
  readonly listed: Map<string, number>
  /** Of these the ones that are another server's by now. */
  readonly moved: Map<string, MovedResource>
  /** Since when it is wanted, until its server has said that it tells of it; of another client's: from ever. */
  since?: number | undefined
  /** Whose share it counts for: of the first who wanted it. */
  readonly caller: string
}

interface MovedResource {
  /** The server; undefined: several are asked, as none lists it. */
  readonly to: string | undefined
  /** Has nobody asked for it any more. */
  readonly undo: () => void
}

import type { Implementation } from '../../protocol/messages/base.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { LoggingLevel } from '../../protocol/messages/logging.js'
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
  close(): Promise<void>
}

/** What a call to a server behind a gateway is made with. */
export interface UpstreamCall {
  readonly signal?: AbortSignal
  readonly fresh?: boolean
  readonly timeout?: number
  readonly resetOnProgress?: boolean
  readonly onProgress?: (progress: {
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}

/** Several of them, which may come and go: what `startClients` returns is such a set. */
export interface Upstreams {
  readonly names: readonly string[]
  has(name: string): boolean
  get(name: string): Upstream
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
  readonly roots: () => Promise<never>
}

/** What is known of a question. */
export interface SeatQuestion {
  readonly signal: AbortSignal
}

/** Starts the client of a server. It may resolve before the client is ready. */
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
  /** Clients at once, where each session or principal has its own. Default 100. */
  readonly max?: number
  /**
   * Milliseconds without a call until a client is closed; the next call starts it again. Default 600,000 for those
   * of sessions and principals; the one of all stays (0).
   */
  readonly idle?: number
}

import { type Deferred, defineActor, refuse, type Refusal } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { RefOf } from '../../runtime/process/ref.js'
import { withDeadline } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { readRetryAfter } from '../../transports/base/retry-after.js'
import { asAuthFailure, authFailed } from './failure.js'
import type { AuthFlow } from './flow.js'
import { orAborted } from './storage.js'
import { hasEnded, isExpiring, type Renewal, satisfies, type TokenSet } from './tokens.js'
import { ClientError } from '../base/errors.js'

/** State that outlives the actor, and is read without a call. */
export interface TokenDesk {
  tokens: TokenSet | undefined
  /** A refresh that was sent; settles once its answer is stored, and never rejects. */
  refreshing?: Promise<unknown> | undefined
  /** Stores what could not be stored; never rejects. */
  flush?: (() => Promise<unknown>) | undefined
}

interface TokensInput {
  readonly flow: AuthFlow
  readonly desk: TokenDesk
  /** In ms, for one renewal. */
  readonly timeout: number
  readonly world: World
}

interface Waiting {
  readonly reply: Deferred<TokenSet | undefined>
  /** Undefined: any tokens will do, or none. */
  readonly renewal: Renewal | undefined
  renewals: number
}

/** `stepUp`: for more scopes. */
type RenewalKind = 'plain' | 'stepUp'

interface State extends TokensInput {
  loaded: boolean
  /** What is under way. A person may take minutes to give more scopes, and a refresh must not wait for that. */
  readonly busy: { [Kind in RenewalKind]: boolean }
  waiting: readonly Waiting[]
  /** Ends what is under way: somebody has signed out. */
  signOut: AbortController
  /** Kept for callers that come shortly after with the same token. */
  readonly failures: { [Kind in RenewalKind]?: Failure | undefined }
}

interface Failure {
  readonly refused: string | undefined
  readonly error: ClientError
  readonly until: number
  /** How many there are in a row. */
  readonly count: number
}

type Outcome = { readonly kind: RenewalKind } & (
  | { readonly type: 'loaded' | 'renewed'; readonly tokens: TokenSet | undefined }
  | { readonly type: 'failed'; readonly refused: string | undefined; readonly error: ClientError }
)

/** Ms that a failure is kept for late callers; a passing one the longer, the more of them there are in a row. */
const failureHolds = { lasting: 5_000, passing: 1_000, longestPassing: 5_000, longestWished: 30_000 } as const
/** Renewals per caller: the first may lack scopes. */
const maxRenewals = 2

/** One server's tokens: many refusals share one renewal and its failure. Handlers never wait. */
export const tokensActor = defineActor({
  name: 'tokens',
  stray: 'report',
  init(input: TokensInput, ctx): State {
    const state: State = {
      ...input,
      loaded: false,
      busy: { plain: false, stepUp: false },
      waiting: [],
      signOut: new AbortController(),
      failures: {},
    }
    begin(state, ctx, undefined)
    return state
  },
  call: {
    /** Valid tokens, renewed in the background if they expire soon; undefined when there are none. */
    current(
      state: State,
      _: undefined,
      ctx: ActorContext,
    ): TokenSet | Refusal | undefined | Deferred<TokenSet | undefined> {
      const { loaded, desk, world } = state
      const busy = state.busy.plain
      const { tokens } = desk
      if (!loaded || tokens === undefined) return loaded ? undefined : wait(state, undefined, ctx)
      if (!wantsRenewal(state)) return tokens
      const failure = failureOf(state, another(tokens), ctx)
      if (!busy && failure !== undefined) return hasEnded(tokens, world.date()) ? refuse(failure) : tokens
      if (hasEnded(tokens, world.date())) return wait(state, undefined, ctx)
      // callers do not wait for the renewal while the token is valid
      if (!busy) begin(state, ctx, another(tokens))
      return tokens
    },
    renew(
      state: State,
      renewal: Renewal,
      ctx: ActorContext,
    ): TokenSet | Refusal | Deferred<TokenSet | undefined> {
      const { desk } = state
      const busy = state.busy[kindOf(renewal)]
      if (desk.tokens !== undefined && satisfies(desk.tokens, renewal)) return desk.tokens
      const failure = failureOf(state, renewal, ctx)
      if (failure !== undefined && !busy) return refuse(failure)
      return wait(state, renewal, ctx)
    },
    /** Here and in the storage, which may never answer: nobody else waits for it. */
    forget(state: State, _: undefined, ctx: ActorContext): Deferred<void> {
      state.desk.tokens = undefined
      // a person who is asked holds the lock
      state.signOut.abort(signedOut())
      state.signOut = new AbortController()
      const reply = ctx.defer<void>()
      void orAborted(state.flow.forget(ctx.signal), ctx.signal).then(
        () => {
          // a renewal that was under way may have ended in between
          state.desk.tokens = undefined
          reply.resolve(undefined)
        },
        (cause: unknown) =>
          reply.reject(cause instanceof DOMException ? notForgotten() : asAuthFailure(cause)),
      )
      return reply
    },
  },
  cast: {
    settled(state: State, outcome: Outcome, ctx: ActorContext) {
      state.busy[outcome.kind] = false
      if (outcome.type === 'failed') return fail(state, outcome, ctx)
      state.loaded = true
      state.desk.tokens = outcome.tokens
      if (outcome.type === 'renewed') state.failures[outcome.kind] = undefined
      answer(state, outcome.kind)
      next(state, ctx)
    },
  },
})

function wait(state: State, renewal: Renewal | undefined, ctx: ActorContext): Deferred<TokenSet | undefined> {
  const reply = ctx.defer<TokenSet | undefined>()
  state.waiting = [...state.waiting, { reply, renewal, renewals: 0 }]
  next(state, ctx)
  return reply
}

/** Renews for the first in the queue, one of a kind at a time. */
function next(state: State, ctx: ActorContext): void {
  for (const kind of ['plain', 'stepUp'] as const) {
    const those = state.waiting.filter(({ renewal }) => kindOf(renewal) === kind)
    const [first] = those
    if (state.busy[kind] || first === undefined) continue
    for (const one of those) one.renewals += 1
    begin(state, ctx, first.renewal ?? another(state.desk.tokens))
  }
}

function kindOf(renewal: Renewal | undefined): RenewalKind {
  return renewal?.stepUp === true ? 'stepUp' : 'plain'
}

function another(tokens: TokenSet | undefined): Renewal {
  return { refused: tokens?.accessToken, challenge: undefined, stepUp: false }
}

/** Of an attempt shortly before, with the same token. */
function failureOf({ failures }: State, renewal: Renewal, { clock }: ActorContext): ClientError | undefined {
  const failure = failures[kindOf(renewal)]
  if (failure === undefined || failure.refused !== renewal.refused || clock.now() >= failure.until)
    return undefined
  return failure.error
}

function begin(state: State, ctx: ActorContext, renewal: Renewal | undefined): void {
  const kind = kindOf(renewal)
  state.busy[kind] = true
  const self = ctx.self as RefOf<typeof tokensActor>
  const { signal: ended } = ctx
  const { signal: out } = state.signOut
  const tell = (outcome: Outcome): void => {
    if (self.alive) self.cast('settled', outcome)
  }
  const work = async (late: AbortSignal): Promise<TokenSet | undefined> => {
    const signal = AbortSignal.any([ended, late, out])
    try {
      const { flow } = state
      return await orAborted(renewal === undefined ? flow.load(signal) : flow.renew(renewal, signal), signal)
    } catch (cause) {
      throw late.aborted ? tooLate(state) : cause
    }
  }
  withDeadline(state.timeout, state.world, work).then(
    (tokens) => tell({ kind, type: renewal === undefined ? 'loaded' : 'renewed', tokens }),
    (cause: unknown) =>
      tell({ kind, type: 'failed', refused: renewal?.refused, error: asAuthFailure(cause) }),
  )
}

function signedOut(): ClientError {
  const details = { retryable: true, data: { sent: false } }
  return new ClientError('AUTHORIZATION_FAILED', 'somebody has signed out meanwhile', details)
}

function notForgotten(): ClientError {
  const message = 'signOut: the storage did not answer in time (requestTimeout)'
  return new ClientError('AUTHORIZATION_FAILED', message, { retryable: true, data: { sent: false } })
}

function tooLate({ timeout }: State): ClientError {
  return authFailed(
    `no tokens came within ${timeout} ms (signInTimeout): nobody has signed in, or who was asked for them does not answer`,
  )
}

/** Callers that still lack scopes wait again, `maxRenewals` at most. */
function answer(state: State, kind: RenewalKind): void {
  const { tokens } = state.desk
  const left: Waiting[] = []
  for (const one of state.waiting) {
    if (
      one.renewal === undefined
        ? !wantsRenewal(state) || one.renewals > 0
        : tokens !== undefined && satisfies(tokens, one.renewal)
    )
      one.reply.resolve(tokens)
    else if (kindOf(one.renewal) === kind && one.renewals >= maxRenewals)
      one.reply.reject(asAuthFailure(new Error('the tokens that came were not enough')))
    else left.push(one)
  }
  state.waiting = left
}

function fail(state: State, failed: Outcome & { type: 'failed' }, ctx: ActorContext): void {
  const { kind, refused, error } = failed
  const count = (state.failures[kind]?.count ?? 0) + 1
  state.failures[kind] = {
    refused,
    error,
    count,
    until: ctx.clock.now() + holdOf(error, count, state.world.date()),
  }
  const isConcerned = ({ renewal }: Waiting): boolean => kindOf(renewal) === kind
  const concerned = state.waiting.filter(isConcerned)
  state.waiting = state.waiting.filter((one) => !isConcerned(one))
  for (const { reply } of concerned) reply.reject(error)
}

/** A server that says when to come again is asked again then. In ms; `wallNow` is the time since 1970. */
export function holdOf({ retryable, data }: ClientError, count: number, wallNow: number): number {
  const { lasting, passing, longestPassing, longestWished } = failureHolds
  if (!retryable) return lasting
  const wished = readRetryAfter((data as { readonly retryAfter?: unknown } | undefined)?.retryAfter, wallNow)
  const own = Math.min(passing * 2 ** (count - 1), longestPassing)
  return Math.max(own, Math.min(wished ?? 0, longestWished))
}

function wantsRenewal({ desk: { tokens }, flow, world }: State): boolean {
  return tokens !== undefined && isExpiring(tokens, world.date()) && flow.canRenew(tokens)
}

import { type Deferred, defineActor, refuse, type Refusal } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { RefOf } from '../../runtime/process/ref.js'
import { withDeadline } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { asAuthFailure, authFailed } from './failure.js'
import type { AuthFlow } from './flow.js'
import { orAborted } from './storage.js'
import { hasEnded, isExpiring, type Renewal, satisfies, type TokenSet } from './tokens.js'
import type { ClientError } from '../base/errors.js'

/** State that outlives the actor, and is read without a call. */
export interface TokenDesk {
  tokens: TokenSet | undefined
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

interface State extends TokensInput {
  loaded: boolean
  busy: boolean
  waiting: readonly Waiting[]
  /** Kept for callers that come shortly after with the same token. */
  failure:
    | { readonly refused: string | undefined; readonly error: ClientError; readonly until: number }
    | undefined
}

type Outcome =
  | { readonly type: 'loaded' | 'renewed'; readonly tokens: TokenSet | undefined }
  | { readonly type: 'failed'; readonly refused: string | undefined; readonly error: ClientError }

/** Ms that a failure is kept for late callers. */
const failureHolds = { lasting: 5_000, passing: 1_000 } as const
/** Renewals per caller: the first may lack scopes. */
const maxRenewals = 2

/** One server's tokens: many refusals share one renewal and its failure. Handlers never wait. */
export const tokensActor = defineActor({
  name: 'tokens',
  stray: 'report',
  init(input: TokensInput, ctx): State {
    const state: State = { ...input, loaded: false, busy: false, waiting: [], failure: undefined }
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
      const { loaded, busy, desk, world } = state
      const { tokens } = desk
      if (!loaded || tokens === undefined) return loaded ? undefined : wait(state, undefined, ctx)
      if (!wantsRenewal(state)) return tokens
      const failure = failureOf(state, tokens.accessToken, ctx)
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
      const { busy, desk } = state
      if (desk.tokens !== undefined && satisfies(desk.tokens, renewal)) return desk.tokens
      const failure = failureOf(state, renewal.refused, ctx)
      if (failure !== undefined && !busy) return refuse(failure)
      return wait(state, renewal, ctx)
    },
    /** Here and in the storage. */
    async forget(state: State) {
      state.desk.tokens = undefined
      await state.flow.forget()
    },
  },
  cast: {
    settled(state: State, outcome: Outcome, ctx: ActorContext) {
      state.busy = false
      if (outcome.type === 'failed') return fail(state, outcome, ctx)
      state.loaded = true
      state.desk.tokens = outcome.tokens
      if (outcome.type === 'renewed') state.failure = undefined
      answer(state)
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

/** Renews for the first in the queue, one at a time. */
function next(state: State, ctx: ActorContext): void {
  const [first] = state.waiting
  if (state.busy || first === undefined) return
  for (const one of state.waiting) one.renewals += 1
  begin(state, ctx, first.renewal ?? another(state.desk.tokens))
}

function another(tokens: TokenSet | undefined): Renewal {
  return { refused: tokens?.accessToken, challenge: undefined, stepUp: false }
}

/** Of an attempt shortly before, with the same token. */
function failureOf(
  { failure }: State,
  refused: string | undefined,
  { clock }: ActorContext,
): ClientError | undefined {
  if (failure === undefined || failure.refused !== refused || clock.now() >= failure.until) return undefined
  return failure.error
}

function begin(state: State, ctx: ActorContext, renewal: Renewal | undefined): void {
  state.busy = true
  const self = ctx.self as RefOf<typeof tokensActor>
  const { signal: ended } = ctx
  const tell = (outcome: Outcome): void => {
    if (self.alive) self.cast('settled', outcome)
  }
  const work = async (late: AbortSignal): Promise<TokenSet | undefined> => {
    const signal = AbortSignal.any([ended, late])
    try {
      const { flow } = state
      return await orAborted(renewal === undefined ? flow.load() : flow.renew(renewal, signal), signal)
    } catch (cause) {
      throw late.aborted ? tooLate(state) : cause
    }
  }
  withDeadline(state.timeout, state.world, work).then(
    (tokens) => tell({ type: renewal === undefined ? 'loaded' : 'renewed', tokens }),
    (cause: unknown) => tell({ type: 'failed', refused: renewal?.refused, error: asAuthFailure(cause) }),
  )
}

function tooLate({ timeout }: State): ClientError {
  return authFailed(
    `no tokens came within ${timeout} ms (signInTimeout): nobody has signed in, or who was asked for them does not answer`,
  )
}

/** Callers that still lack scopes wait again, `maxRenewals` at most. */
function answer(state: State): void {
  const { tokens } = state.desk
  const left: Waiting[] = []
  for (const one of state.waiting) {
    if (
      one.renewal === undefined
        ? !wantsRenewal(state) || one.renewals > 0
        : tokens !== undefined && satisfies(tokens, one.renewal)
    )
      one.reply.resolve(tokens)
    else if (one.renewals >= maxRenewals)
      one.reply.reject(asAuthFailure(new Error('the tokens that came were not enough')))
    else left.push(one)
  }
  state.waiting = left
}

function fail(state: State, { refused, error }: Outcome & { type: 'failed' }, ctx: ActorContext): void {
  const holds = error.retryable ? failureHolds.passing : failureHolds.lasting
  state.failure = { refused, error, until: ctx.clock.now() + holds }
  const { waiting } = state
  state.waiting = []
  for (const { reply } of waiting) reply.reject(error)
}

function wantsRenewal({ desk: { tokens }, flow, world }: State): boolean {
  return tokens !== undefined && isExpiring(tokens, world.date()) && flow.canRenew(tokens)
}

import type { BreakerOptions } from '../definitions/gateway-options.js'

/**
 * What a call says of its server: it serves; it does not, and another call would fare no better; or nothing, as
 * with what is the caller's own doing, and with 429.
 */
export type Verdict = 'serves' | 'fails' | 'unsaid'

/** `closed`: calls go through. `open`: they are refused until a time. `trying`: one has gone through. */
export type Breaker =
  | { readonly state: 'closed'; readonly failures: number }
  | { readonly state: 'open'; readonly until: number; readonly pause: number }
  | { readonly state: 'trying'; readonly since: number; readonly pause: number }

export const closedBreaker: Breaker = Object.freeze({ state: 'closed', failures: 0 })

/** The breaker when a call has gone through, or for how many ms none does. */
export function admit(breaker: Breaker, now: number): Breaker | { readonly wait: number } {
  if (breaker.state === 'closed') return breaker
  const { pause } = breaker
  // a call that tries and is never settled must not close the door for good
  const until = breaker.state === 'open' ? breaker.until : breaker.since + pause
  return now < until ? { wait: until - now } : { state: 'trying', since: now, pause }
}

export function settle(
  breaker: Breaker,
  verdict: Verdict,
  now: number,
  { failures, pause, maxPause }: Required<BreakerOptions>,
): Breaker {
  if (verdict === 'serves') return closedBreaker
  switch (breaker.state) {
    case 'closed': {
      if (verdict === 'unsaid') return breaker
      const next = breaker.failures + 1
      return next < failures
        ? { state: 'closed', failures: next }
        : { state: 'open', until: now + pause, pause }
    }
    case 'trying': {
      if (verdict === 'unsaid') return { state: 'open', until: now, pause: breaker.pause }
      const longer = Math.min(breaker.pause * 2, maxPause)
      return { state: 'open', until: now + longer, pause: longer }
    }
    case 'open':
      // a call from before: it is what has been found out
      return breaker
    default:
      return breaker satisfies never
  }
}

/**
 * What the failure of a call says. A connection that is lost or not there says nothing: the client of that server
 * knows when it is back, and no pause may make it later.
 */
export function verdictOf(failure: { readonly code: string; readonly status?: number | undefined }): Verdict {
  const { code, status } = failure
  if (code === 'TIMEOUT' || code === 'INVALID_RESPONSE') return 'fails'
  return code === 'REQUEST_FAILED' && status !== undefined && status >= 500 ? 'fails' : 'unsaid'
}

/** What a token is now; `unknown` where nobody could say. */
export type Standing = 'good' | 'refused' | 'unknown'

/** The token that let in what outlives its request: as long as that is open, it may be revoked. */
export interface StandingToken {
  /** Whether the last answer is recent enough to let in a request. */
  readonly isFresh: boolean
  /** Asks the verifier again. Never rejects; whoever asks meanwhile gets the same answer. */
  ask(): Promise<Standing>
  /** Called now and then: asks if the last answer is too old, and calls `end` if the token is good no more. */
  beat(end: () => void): void
}

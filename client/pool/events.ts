/**
 * What can happen to a member: it can be given calls (`ready`), has lost its connection (`lost`), leaves
 * questions for a sign of life unanswered (`unhealthy`) or answers again (`healthy`), will never be ready as
 * it is (`failed`), has ended (`down`) and waits to be started again (`restarted`), came (`added`) or went
 * (`removed`), or was taken back from whoever had checked it out for too long (`expired`).
 */
export type PoolEventType =
  | 'ready'
  | 'lost'
  | 'unhealthy'
  | 'healthy'
  | 'failed'
  | 'down'
  | 'restarted'
  | 'added'
  | 'removed'
  | 'expired'

/** Something that happened to a member of a pool. */
export interface PoolEvent {
  readonly type: PoolEventType
  /** The name of the member. */
  readonly member: string
  /** Why, where something went wrong. */
  readonly reason: Error | undefined
}

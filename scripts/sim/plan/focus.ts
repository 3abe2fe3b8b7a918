import { chanceOf } from '../world/chance.js'
import type { ActKind, ClientPlan, FaultVerb, Plan } from './plan.js'

/** What a run has much of: what is rare, and has to happen to something rare, would hardly ever be seen. */
export interface Focus {
  readonly store?: Plan['store']
  readonly era?: ClientPlan['era']
  /** What clients mostly do. */
  readonly kinds?: readonly ActKind[]
  /** All that breaks, mostly while something of this is done. */
  readonly verbs?: readonly FaultVerb[]
}

const everything: Focus = {}

/** With their shares. */
const focuses: readonly (readonly [number, Focus])[] = [
  [10, everything],
  // sessions that outlive programs
  [
    4,
    {
      store: 'durable',
      era: 'handshake',
      kinds: ['append', 'read'],
      verbs: ['kill', 'kill', 'power', 'upgrade', 'crash', 'fail', 'lose', 'lag', 'snip'],
    },
  ],
  // streams that are taken up again
  [3, { era: 'handshake', kinds: ['slow', 'elicit'], verbs: ['reset', 'snip', 'cut', 'oneWayCut', 'delay'] }],
  // calls that get lost
  [2, { kinds: ['once', 'append', 'echo'], verbs: ['kill', 'reset', 'snip', 'upgrade', 'refuse'] }],
]

export function drawFocus(seed: number): Focus {
  const [, focus] = chanceOf(seed, 'focus').pick(focuses, ([share]) => share) ?? [0, everything]
  return focus
}

/** Milliseconds that lists are left alone after they were asked for: at least, and what their size adds. */
const shortest = 20
const charactersPerMs = 2_500
/** A pause is doubled so often at most. */
const mostDoublings = 5

/**
 * Milliseconds until a server may be asked for its lists again, so that one that always tells of changes costs the
 * others little: longer for long lists (`size`, characters of all that is offered), and twice as long after each of
 * `turns` pauses in which they have changed.
 */
export function pauseAfter(size: number, turns: number): number {
  return Math.round((shortest + size / charactersPerMs) * 2 ** Math.min(turns, mostDoublings))
}

import type { Holdings } from './holdings.js'
import type { ClientState } from './state.js'

/** States that may wait for a slow reader; then the oldest is dropped, since the newest is what counts. */
const maxWaiting = 100

/**
 * The states of a client from now on, the present one first. Ends after the last one: closed, or given up. A loop that is left early
 * leaves nothing behind.
 */
export function stateStream(holdings: Holdings): AsyncIterableIterator<ClientState> {
  const waiting: ClientState[] = [holdings.state]
  let reader: ((result: IteratorResult<ClientState>) => void) | undefined
  let ended = isLast(holdings, holdings.state)
  const unwatch = holdings.watch((state) => {
    if (reader === undefined) waiting.push(state)
    else settle({ done: false, value: state })
    if (waiting.length > maxWaiting) waiting.shift()
    if (isLast(holdings, state)) end()
  })

  function settle(result: IteratorResult<ClientState>): void {
    reader?.(result)
    reader = undefined
  }

  function end(): void {
    ended = true
    unwatch()
    settle({ done: true, value: undefined })
  }

  return {
    next() {
      const state = waiting.shift()
      if (state !== undefined) return Promise.resolve({ done: false, value: state })
      if (ended) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve) => {
        // One that asks twice at once gets the end for the first question: only one can wait.
        settle({ done: true, value: undefined })
        reader = resolve
      })
    },
    return() {
      waiting.length = 0
      end()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function isLast(holdings: Holdings, { phase }: ClientState): boolean {
  return phase === 'closed' || holdings.over
}

import type { Holdings } from '../holdings/holdings.js'
import type { ClientState, Undo } from '../base/state.js'

/** Values that may wait for a slow reader. */
const mostStates = 100
/** Values that may wait for a slow reader. */
const mostNews = 1_000

/** The present state first; the last is `closed`, or given up. */
export function stateStream(holdings: Holdings): AsyncIterableIterator<ClientState> {
  return streamOf(holdings, mostStates, (push) => {
    push(holdings.state)
    return holdings.watch(push)
  })
}

/** Iterates until the client has ended. */
export function newsStream<News extends object>(
  listen: (fn: (news: News) => void) => Undo,
  holdings: Holdings,
): AsyncIterableIterator<News> {
  return streamOf(holdings, mostNews, listen)
}

/**
 * Iterates over what `begin` pushes, until the client ends or the iterator is left. Beyond `most` the oldest is
 * dropped.
 */
function streamOf<Item extends object>(
  holdings: Holdings,
  most: number,
  begin: (push: (item: Item) => void) => Undo,
): AsyncIterableIterator<Item> {
  const waiting: Item[] = []
  let readers: ((result: IteratorResult<Item>) => void)[] = []
  let undos: Undo[] = []
  let over = false

  function push(item: Item): void {
    if (over) return
    const reader = readers.shift()
    if (reader !== undefined) return reader({ done: false, value: item })
    waiting.push(item)
    if (waiting.length > most) waiting.shift()
  }

  function end(): void {
    over = true
    for (const undo of undos) undo()
    undos = []
    for (const reader of readers) reader({ done: true, value: undefined })
    readers = []
  }

  function look({ phase }: ClientState): void {
    if (phase === 'closed' || holdings.over) end()
  }

  // the items first, so that the last state is pushed before the end
  undos = [begin(push), holdings.watch(look)]
  look(holdings.state)

  return {
    next() {
      const item = waiting.shift()
      if (item !== undefined) return Promise.resolve({ done: false, value: item })
      if (over) return Promise.resolve({ done: true, value: undefined })
      return new Promise((resolve) => readers.push(resolve))
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

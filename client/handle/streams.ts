import type { Holdings } from '../holdings/holdings.js'
import type { ClientState, Undo } from '../base/state.js'

/** States that may wait for a slow reader: the newest is what counts. */
const mostStates = 100
/** News that may wait for a slow reader. */
const mostNews = 1_000

/**
 * The states of a client from now on, the present one first. Ends after the last one: closed, or given up.
 */
export function stateStream(holdings: Holdings): AsyncIterableIterator<ClientState> {
  return streamOf(mostStates, ({ push, end }) => {
    const take = (state: ClientState): void => {
      push(state)
      if (state.phase === 'closed' || holdings.over) end()
    }
    take(holdings.state)
    return holdings.watch(take)
  })
}

/**
 * News from now on, until it is left or the client has ended. `listen` begins to listen and answers its undo.
 */
export function newsStream<News extends object>(
  listen: (fn: (news: News) => void) => Undo,
  holdings: Holdings,
): AsyncIterableIterator<News> {
  return streamOf(mostNews, ({ push, end }) => {
    const look = ({ phase }: ClientState): void => {
      if (phase === 'closed' || holdings.over) end()
    }
    const undos = [listen(push), holdings.watch(look)]
    look(holdings.state)
    return () => {
      for (const undo of undos) undo()
    }
  })
}

/** What comes in a stream, from where it is made. */
interface Feed<Item> {
  readonly push: (item: Item) => void
  /** Nothing follows; what waits is still read. */
  readonly end: () => void
}

/**
 * What `begin` feeds, as an async iterator, until the feed ends or the iterator is left: then what `begin`
 * answered is called, and a loop that is left early leaves nothing behind. Of what a slow reader has not
 * read, the oldest is dropped beyond `most`.
 */
function streamOf<Item extends object>(
  most: number,
  begin: (feed: Feed<Item>) => Undo,
): AsyncIterableIterator<Item> {
  const waiting: Item[] = []
  let readers: ((result: IteratorResult<Item>) => void)[] = []
  let undo: Undo | undefined
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
    undo?.()
    undo = undefined
    for (const reader of readers) reader({ done: true, value: undefined })
    readers = []
  }

  undo = begin({ push, end })
  if (over) undo()

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

import type { Undo } from './holdings.js'

/** News that may wait for a slow reader; then the oldest is dropped. */
const maxWaiting = 1_000

/**
 * News as an async iterator, from now on, until it is left or the client has ended. `listen` begins to listen and answers its undo; `ended` settles
 * when nothing will come any more. A loop that is left early leaves nothing behind.
 */
export function newsStream<News>(
  listen: (fn: (news: News) => void) => Undo,
  ended: Promise<unknown>,
): AsyncIterableIterator<News> {
  const waiting: News[] = []
  let reader: ((result: IteratorResult<News>) => void) | undefined
  let over = false
  const undo = listen((news) => {
    if (reader !== undefined) return settle({ done: false, value: news })
    waiting.push(news)
    if (waiting.length > maxWaiting) waiting.shift()
  })
  ended.then(end, end)

  function settle(result: IteratorResult<News>): void {
    reader?.(result)
    reader = undefined
  }

  function end(): void {
    over = true
    undo()
    settle({ done: true, value: undefined })
  }

  return {
    next() {
      const news = waiting.shift()
      if (news !== undefined) return Promise.resolve({ done: false, value: news })
      if (over) return Promise.resolve({ done: true, value: undefined })
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

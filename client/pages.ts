import { callError } from './errors.js'
import { callFields, type CallOptions } from './call-options.js'
import { readCount, readFields } from './read-options.js'

/** What an iterator over all pages of a list may be given; the options of a call hold for each page. */
export interface PagesOptions extends CallOptions {
  /** Pages after which it rejects with TOO_MANY_PAGES: a server may go on for ever. Default 100. */
  readonly maxPages?: number
}

/** One page of a list, as far as iterating over it is concerned. */
interface AnyPage {
  readonly nextCursor?: string
}

/** The params of a request for one page; the empty text is a cursor, too. */
export interface PageParams {
  readonly cursor?: string
}

/** All elements of a list, page after page as they are needed. */
export async function* allPages<P extends AnyPage, T>(
  method: string,
  given: PagesOptions,
  list: { fetch(page: PageParams, options: CallOptions): Promise<P>; elements(page: P): readonly T[] },
): AsyncGenerator<T, void, undefined> {
  const { maxPages, ...options } = readFields(given, 'options', [...callFields, 'maxPages'])
  const limit = readCount(maxPages, 'maxPages', 100)
  let cursor: string | undefined
  for (let page = 0; page < limit; page++) {
    const answer = await list.fetch(cursor === undefined ? {} : { cursor }, options as CallOptions)
    yield* list.elements(answer)
    if (answer.nextCursor === undefined) return
    cursor = answer.nextCursor
  }
  throw callError('TOO_MANY_PAGES', `${method}: the server has more than ${limit} pages`, {
    sent: true,
    retryable: false,
  })
}

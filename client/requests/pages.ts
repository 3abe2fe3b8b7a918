import { callError } from '../base/errors.js'
import { callFields, type CallOptions } from '../options/call-options.js'
import { bad, readCount, readOptions } from '../base/read-options.js'

/** What an iterator over all pages of a list may be given; the options of a call hold for each page. */
export interface PagesOptions extends CallOptions {
  /** Pages after which it rejects with TOO_MANY_PAGES: a server may go on for ever. Default 100. */
  readonly maxPages?: number
}

/** One page of a list, as far as iterating over it is concerned. */
interface AnyPage {
  readonly nextCursor?: string
}

/** What a request for one page of a list may be given. */
export interface PageOptions extends CallOptions {
  /**
   * `nextCursor` of the page before; without it, the first page is asked for. The empty text is a cursor,
   * too.
   */
  readonly cursor?: string
}

/** The params of a request for one page. */
export interface PageParams {
  readonly cursor?: string
}

/** Takes the options of a page apart. Throws BAD_OPTION, naming the field. */
export function readPageOptions(
  given: PageOptions,
  others: readonly unknown[],
): { readonly page: PageParams; readonly call: CallOptions | undefined } {
  const example = "{ cursor: '...', timeout: 5000 }"
  if (others.length > 0) throw bad('options', `one object for all, such as ${example}`, [given, ...others])
  const { cursor, ...call } = readOptions(given, [...callFields, 'cursor'], example)
  if (cursor !== undefined && typeof cursor !== 'string') throw bad('cursor', 'a string', cursor)
  return {
    page: cursor === undefined ? {} : { cursor },
    call: Object.keys(call).length === 0 ? undefined : call,
  }
}

/** All elements of a list, page after page as they are needed. */
export async function* allPages<P extends AnyPage, T>(
  method: string,
  given: PagesOptions,
  list: { fetch(options: PageOptions): Promise<P>; elements(page: P): readonly T[] },
): AsyncGenerator<T, void, undefined> {
  const { maxPages, ...options } = readOptions(given, [...callFields, 'maxPages'], '{ maxPages: 10 }')
  const limit = readCount(maxPages, 'maxPages', 100)
  let cursor: string | undefined
  for (let page = 0; page < limit; page++) {
    const answer = await list.fetch(cursor === undefined ? options : { ...options, cursor })
    yield* list.elements(answer)
    if (answer.nextCursor === undefined) return
    cursor = answer.nextCursor
  }
  throw callError('TOO_MANY_PAGES', `${method}: the server has more than ${limit} pages`, {
    sent: true,
    retryable: false,
  })
}

import { callError, type ClientError } from '../base/errors.js'
import { callFields, type CallOptions } from '../options/call-options.js'
import { bad, readCount, readOptions } from '../base/read-options.js'

/** Of all pages of a list, as JSON: a message has a limit, and whoever wants the whole list keeps all of them. */
const maxBytes = 16 * 1024 * 1024

/** What an iterator over all pages of a list may be given; the options of a call hold for each page. */
export interface PagesOptions extends CallOptions {
  /**
   * Pages after which it rejects with TOO_MANY_PAGES: a server may go on for ever. Default 100. So it does after
   * 16 MiB of them.
   */
  readonly maxPages?: number
}

/** What a request for one page of a list may be given. */
export interface PageOptions extends CallOptions {
  /** `nextCursor` of the page before, which may be the empty text. Default: the first page. */
  readonly cursor?: string
}

/** Throws BAD_OPTION, naming the field. */
export function readPageOptions(
  given: PageOptions,
  others: readonly unknown[],
): { readonly page: Pick<PageOptions, 'cursor'>; readonly call: CallOptions | undefined } {
  const example = "{ cursor: '...', timeout: 5000 }"
  if (others.length > 0) throw bad('options', `one object for all, such as ${example}`, [given, ...others])
  const { cursor, ...call } = readOptions(given, [...callFields, 'cursor'], example)
  if (cursor !== undefined && typeof cursor !== 'string') throw bad('cursor', 'a string', cursor)
  return {
    page: cursor === undefined ? {} : { cursor },
    call: Object.keys(call).length === 0 ? undefined : call,
  }
}

/** Fetches pages as they are needed. */
export async function* allPages<Page extends { readonly nextCursor?: string }, Element>(
  method: string,
  given: PagesOptions,
  fetch: (options: PageOptions) => Promise<Page>,
  elements: (page: Page) => readonly Element[],
): AsyncGenerator<Element, void, undefined> {
  const { maxPages, ...options } = readOptions(given, [...callFields, 'maxPages'], '{ maxPages: 10 }')
  const limit = readCount(maxPages, 'maxPages', 100)
  let cursor: string | undefined
  let bytes = 0
  for (let page = 0; page < limit; page++) {
    const answer = await fetch(cursor === undefined ? options : { ...options, cursor })
    bytes += Buffer.byteLength(JSON.stringify(answer))
    if (bytes > maxBytes) throw tooMany(`${method}: the list has more than ${maxBytes} bytes`)
    yield* elements(answer)
    if (answer.nextCursor === undefined) return
    cursor = answer.nextCursor
  }
  throw tooMany(`${method}: the server has more than ${limit} pages`)
}

function tooMany(message: string): ClientError {
  return callError('TOO_MANY_PAGES', message, { sent: true, retryable: false })
}

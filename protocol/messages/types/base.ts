import type { RequestId } from '../../wire/jsonrpc.js'

/**
 * Free data beside a message; keys under `io.modelcontextprotocol/` and the like are reserved (specification:
 * basic, `_meta`).
 */
export interface Meta {
  [key: string]: unknown
}

/**
 * What names the request that progress belongs to: a string or an integer, unique among the active requests.
 */
export type ProgressToken = RequestId

/** `_meta` of a request: with a token, the sender wants progress. */
export interface RequestMeta extends Meta {
  progressToken?: ProgressToken
}

/** What the params of every request may have; all there is for `ping`. */
export interface RequestParams {
  _meta?: RequestMeta
}

/** What the params of every notification may have; all there is for `notifications/initialized`. */
export interface BaseNotificationParams {
  _meta?: Meta
}

/** What every result may have; all there is for an empty one. */
export interface BaseResult {
  /** Since 2026-07-28: `complete`, `input_required` or the word of an extension; absent means complete. */
  resultType?: string
  _meta?: Meta
}

/** Whose cache may keep an answer: anybody's, or only that of the same authorization. */
export type CacheScope = 'public' | 'private'

/** How long, in ms, and by whom an answer may be kept (2026-07-28, caching). */
export interface CacheHints {
  ttlMs: number
  cacheScope: CacheScope
}

/** A result that carries such hints since 2026-07-28. */
export interface CacheableResult extends BaseResult, Partial<CacheHints> {}

/**
 * The client's answers by key: each is the result of the question with that key, to be checked against it.
 */
export type InputResponses = Record<string, object>

/** What the params of a request may have when it is made again with answers (2026-07-28, MRTR). */
export interface RetryParams {
  inputResponses?: InputResponses
  requestState?: string
}

/** Where a list goes on: opaque, made by the server, and possibly the empty string. */
export type Cursor = string

/** Params of a request for one page of a list; without a cursor, the first. */
export interface PaginatedParams extends RequestParams {
  cursor?: Cursor
}

/** One page of a list; without `nextCursor`, the last. */
export interface PaginatedResult extends CacheableResult {
  nextCursor?: Cursor
}

/** Who speaks, or is spoken to. */
export type Role = 'user' | 'assistant'

/** A picture to show beside a name; only `https:` and `data:` sources are to be trusted. */
export interface Icon {
  src: string
  mimeType?: string
  /** Such as `48x48`, or `any` for a scalable one. */
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** A name for programs and, where it differs, one for people. */
export interface BaseMetadata {
  name: string
  title?: string
}

/** Who a client or server is: for display, never for behaviour or security. */
export interface Implementation extends BaseMetadata {
  version: string
  description?: string
  websiteUrl?: string
  icons?: Icon[]
}

/** Hints about a piece of content: for whom it is, how important (0 to 1), and since when (ISO 8601). */
export interface Annotations {
  audience?: Role[]
  priority?: number
  lastModified?: string
}

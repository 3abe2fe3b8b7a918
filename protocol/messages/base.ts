import { isObject } from '../wire/json.js'
import type { RequestId } from '../wire/jsonrpc.js'
import {
  finite,
  listOf,
  loose,
  oneOf,
  optional,
  type Problem,
  record,
  recordOf,
  requestId,
  shape,
  text,
  unchecked,
} from './shape.js'

/** Free data beside a message; keys under `io.modelcontextprotocol/` are reserved (basic, `_meta`). */
export interface Meta {
  [key: string]: unknown
}

/** Names the request that progress belongs to; unique among the active requests. */
export type ProgressToken = RequestId

/** `_meta` of a request: with a token, the sender wants progress. */
export interface RequestMeta extends Meta {
  progressToken?: ProgressToken
}

/** What the params of every request may have; all there is for `ping`. */
export interface RequestParams {
  _meta?: RequestMeta
}

export const requestFields = { _meta: optional(shape<RequestMeta>({ progressToken: optional(requestId) })) }
export const noParams = shape<RequestParams>(requestFields)

/** What the params of every notification may have; all there is for `notifications/initialized`. */
export interface BaseNotificationParams {
  _meta?: Meta
}

export const metaField = { _meta: optional(shape<Meta>({})) }
export const noNews = shape<BaseNotificationParams>(metaField)

/** What every result may have; all there is for an empty one. */
export interface BaseResult {
  /** Since 2026-07-28: `complete`, `input_required` or the word of an extension; absent means complete. */
  resultType?: string
  _meta?: Meta
}

export const resultFields = { resultType: unchecked, ...metaField }
export const emptyResult = shape<BaseResult>(resultFields)

/** Whose cache may keep an answer: anybody's, or only that of the same authorization. */
export type CacheScope = 'public' | 'private'

/** How long, in ms, and by whom an answer may be kept (2026-07-28, caching). */
export interface CacheHints {
  ttlMs: number
  cacheScope: CacheScope
}

/** A result that carries such hints since 2026-07-28. */
export interface CacheableResult extends BaseResult, Partial<CacheHints> {}

/** Not checked: `readCacheHints` replaces what is missing or invalid. */
export const cacheableFields = { ttlMs: unchecked, cacheScope: unchecked, ...resultFields }

/** The client's answers, each under the key of its question; to be checked against the question. */
export type InputResponses = Record<string, object>

/** What the params of a request may have when it is made again with answers (2026-07-28, MRTR). */
export interface RetryParams {
  inputResponses?: InputResponses
  requestState?: string
}

/** Answers in one request, and characters of a state: far beyond what a server of ours asks and seals. */
const maxAnswers = 1_000
const maxState = 262_144
/** Arguments of a prompt: each costs time wherever it passes. */
export const maxArguments = 1_000

const answers = recordOf(record)

export const retryFields = {
  inputResponses: optional<InputResponses>(inputResponses),
  requestState: optional<string>(requestState),
  ...requestFields,
}

/** Where a list goes on: opaque, made by the server, and possibly the empty string. */
export type Cursor = string

/** Params of a request for one page of a list; without a cursor, the first. */
export interface PaginatedParams extends RequestParams {
  cursor?: Cursor
}

export const pageParams = shape<PaginatedParams>({ cursor: optional(text), ...requestFields })

/** One page of a list; without `nextCursor`, the last. */
export interface PaginatedResult extends CacheableResult {
  nextCursor?: Cursor
}

export const pageFields = { nextCursor: optional(text), ...cacheableFields }

/** Who speaks, or is spoken to. */
export type Role = 'user' | 'assistant'

export const role = oneOf('user', 'assistant')

/** A picture to show beside a name; only `https:` and `data:` sources are to be trusted. */
export interface Icon {
  src: string
  mimeType?: string
  /** Such as `48x48`, or `any` for a scalable one. */
  sizes?: string[]
  theme?: 'light' | 'dark'
}

/** Sizes and themes vary among peers, and are for display only. */
const icons = optional(
  listOf(shape<Icon>({ src: text, mimeType: optional(text), sizes: unchecked, theme: unchecked })),
)

/** A name for programs and, where it differs, one for people. */
export interface BaseMetadata {
  name: string
  title?: string
}

/** The fields of whatever has a name, and may have a description. */
export const namedFields = { name: text, title: optional(text), description: optional(text) }
export const shownFields = { ...namedFields, icons }

/** Who a client or server is: for display, never for behaviour or security. */
export interface Implementation extends BaseMetadata {
  version: string
  description?: string
  websiteUrl?: string
  icons?: Icon[]
}

export const implementation = shape<Implementation>({
  name: text,
  version: text,
  title: optional(text),
  description: unchecked,
  websiteUrl: unchecked,
  icons,
})

/** Hints about a piece of content: for whom it is, how important (0 to 1), and since when (ISO 8601). */
export interface Annotations {
  audience?: Role[]
  priority?: number
  lastModified?: string
}

export const annotations = optional(
  shape<Annotations>({
    audience: optional(listOf(loose(text))),
    priority: optional(finite),
    lastModified: optional(text),
  }),
)

function inputResponses(value: unknown): Problem | undefined {
  const count = isObject(value) ? Object.keys(value).length : 0
  return count > maxAnswers ? tooMany(`${maxAnswers} answers`, count) : answers(value)
}

function requestState(value: unknown): Problem | undefined {
  const length = typeof value === 'string' ? value.length : 0
  return length > maxState ? tooMany(`${maxState} characters`, length) : text(value)
}

function tooMany(most: string, got: number): Problem {
  return { path: '', expected: `at most ${most}`, got: String(got) }
}

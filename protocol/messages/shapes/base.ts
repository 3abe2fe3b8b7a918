import { isObject } from '../../wire/json.js'
import {
  finite,
  listOf,
  oneOf,
  optional,
  type Problem,
  record,
  recordOf,
  requestId,
  type Shape,
  shape,
  text,
} from '../shape.js'
import type {
  Annotations,
  BaseNotificationParams,
  BaseResult,
  Icon,
  Implementation,
  Meta,
  PaginatedParams,
  RequestMeta,
  RequestParams,
} from '../types/base.js'

/** The fields that the params of every request may have. */
export const requestFields = { _meta: optional(shape<RequestMeta>({ progressToken: optional(requestId) })) }

/** The fields that every result, and the params of every notification, may have. */
export const otherFields = { _meta: optional(shape<Meta>({})) }

/** Answers in one request, and characters of a state: far beyond what a server of ours asks and seals. */
const maxAnswers = 1_000
const maxState = 262_144
const answers = recordOf(record)

/** The fields of a request that may be made again with answers. */
export const retryFields = {
  inputResponses: optional(inputResponses),
  requestState: optional(requestState),
  ...requestFields,
}

/** Params of a request that asks with nothing. */
export const noParams: Shape<RequestParams> = shape<RequestParams>(requestFields)

/** Params of a notification that tells nothing more than its name. */
export const noNews: Shape<BaseNotificationParams> = shape<BaseNotificationParams>(otherFields)

/** A result that says nothing more than done. */
export const emptyResult: Shape<BaseResult> = shape<BaseResult>(otherFields)

/** Params of a request for one page of a list. */
export const pageParams: Shape<PaginatedParams> = shape<PaginatedParams>({
  cursor: optional(text),
  ...requestFields,
})

/** The fields of one page of a list. */
export const pageFields = { nextCursor: optional(text), ...otherFields }

/** Pictures to show beside a name. */
export const icons = optional(listOf(shape<Icon>({ src: text, mimeType: optional(text) })))

/** Who a client or server is. */
export const implementation: Shape<Implementation> = shape<Implementation>({
  name: text,
  version: text,
  title: optional(text),
  icons,
})

/** The fields of whatever has a name for programs, one for people, and a description. */
export const namedFields = { name: text, title: optional(text), description: optional(text) }

/** The same, with pictures. */
export const shownFields = { ...namedFields, icons }

/** Who speaks. */
export const role = oneOf('user', 'assistant')

/** The hints about a piece of content. */
export const annotations = optional(
  shape<Annotations>({
    audience: optional(listOf(text)),
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

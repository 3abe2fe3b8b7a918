import { errorCodes } from '../wire/errors.js'
import { isObject } from '../wire/json.js'
import {
  type BaseNotificationParams,
  type BaseResult,
  metaField,
  type RequestParams,
  requestFields,
  resultFields,
} from './base.js'
import {
  chosen,
  kind,
  listOf,
  loose,
  oneOf,
  optional,
  record,
  recordOf,
  shape,
  text,
  unchecked,
} from './shape.js'
import type { TaskMetadata } from './tools.js'

/** How a user is asked: by a form that the client draws, or by a page of the server's own. */
export type ElicitationMode = 'form' | 'url'

interface BaseField {
  title?: string
  description?: string
}

/** A field for text. */
export interface TextField extends BaseField {
  type: 'string'
  minLength?: number
  maxLength?: number
  format?: 'email' | 'uri' | 'date' | 'date-time'
  default?: string
}

/** A field for a number. */
export interface NumberField extends BaseField {
  type: 'number' | 'integer'
  minimum?: number
  maximum?: number
  default?: number
}

/** A field for yes or no. */
export interface BooleanField extends BaseField {
  type: 'boolean'
  default?: boolean
}

/** A field for one of a few words; `enumNames` is how 2025-06-18 says what each is called. */
export interface ChoiceField extends BaseField {
  type: 'string'
  enum: string[]
  enumNames?: string[]
  default?: string
}

/** A word to choose, and what it is called. */
export interface TitledChoice {
  const: string
  title: string
}

/** A field for one of a few words that have names. */
export interface TitledChoiceField extends BaseField {
  type: 'string'
  oneOf: TitledChoice[]
  default?: string
}

/** A field for several of a few words. */
export interface ChoicesField extends BaseField {
  type: 'array'
  items: { type: 'string'; enum: string[] } | { anyOf: TitledChoice[] }
  minItems?: number
  maxItems?: number
  default?: string[]
}

/** One field of a form. */
export type FormField =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | TitledChoiceField
  | ChoicesField

/** The fields of a form: a JSON Schema without nesting. */
export interface FormSchema {
  $schema?: string
  type: 'object'
  properties: Record<string, FormField>
  required?: string[]
}

/** Params of `elicitation/create` for a form; never for secrets. */
export interface ElicitFormParams extends RequestParams {
  mode?: 'form'
  message: string
  requestedSchema: FormSchema
  task?: TaskMetadata
}

/** Params of `elicitation/create` for a page; what the user enters there never reaches the client. */
export interface ElicitUrlParams extends RequestParams {
  mode: 'url'
  message: string
  /** http or https; any other scheme is refused. */
  url: string
  /** What `notifications/elicitation/complete` names; 2026-07-28 has neither. */
  elicitationId?: string
  task?: TaskMetadata
}

/** Params of `elicitation/create`, told apart by `mode`. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams

const mode = loose(oneOf('form', 'url'))
const byForm = shape<ElicitFormParams>({
  mode: optional(mode),
  message: text,
  requestedSchema: shape<FormSchema>({
    $schema: unchecked,
    type: oneOf('object'),
    properties: recordOf(record),
    required: optional(listOf(text)),
  }),
  task: optional(record),
  ...requestFields,
})
/** Hosts open it: other schemes run scripts or start programs. */
const pageAddress = kind<string>('an http or https address', isPageAddress)
const urlFields = { mode, message: text, url: pageAddress, task: optional(record), ...requestFields }
const byUrl = shape<ElicitUrlParams>({ ...urlFields, elicitationId: text })
const byBareUrl = shape<ElicitUrlParams>({ ...urlFields, elicitationId: unchecked })

/** In either mode; no mode is a form. */
export const elicitParams = chosen<ElicitParams>(({ mode }) => (mode === 'url' ? byUrl : byForm))

/** The same within a result of 2026-07-28, where a page has no id. */
export const embeddedElicitParams = chosen<ElicitParams>(({ mode }) => (mode === 'url' ? byBareUrl : byForm))

/** Result of `elicitation/create`; `content` only for a form that was accepted. */
export interface ElicitResult extends BaseResult {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

export const elicitResult = shape<ElicitResult>({
  action: oneOf('accept', 'decline', 'cancel'),
  content: optional(record),
  ...resultFields,
})

/** Params of `notifications/elicitation/complete`: what was asked by url has been dealt with. */
export interface ElicitationCompleteParams extends BaseNotificationParams {
  elicitationId: string
}

export const elicitationCompleteParams = shape<ElicitationCompleteParams>({
  elicitationId: text,
  ...metaField,
})

/**
 * The pages that an error -32042 sends the user to before the request can succeed. Each has the id that
 * `notifications/elicitation/complete` will name (2025-11-25, elicitation). Empty for any other error, and
 * for a list with anything else in it.
 */
export function urlElicitations(error: unknown): readonly ElicitUrlParams[] {
  if (!isObject(error) || error.code !== errorCodes.urlElicitationRequired || !isObject(error.data)) return []
  const { elicitations } = error.data
  return Array.isArray(elicitations) && elicitations.every(isPage) ? elicitations : []
}

function isPage(value: unknown): value is ElicitUrlParams {
  return isObject(value) && value.mode === 'url' && elicitParams(value) === undefined
}

function isPageAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

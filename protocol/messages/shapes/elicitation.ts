import { isObject } from '../../wire/json.js'
import { listOf, oneOf, optional, type Problem, record, recordOf, type Shape, shape, text } from '../shape.js'
import type {
  ElicitationCompleteParams,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  FormSchema,
} from '../types/elicitation.js'
import { otherFields, requestFields } from './base.js'

const mode = oneOf('form', 'url')
const byForm = shape<ElicitFormParams>({
  mode: optional(mode),
  message: text,
  requestedSchema: shape<FormSchema>({
    type: oneOf('object'),
    properties: recordOf(record),
    required: optional(listOf(text)),
  }),
  task: optional(record),
  ...requestFields,
})
const urlFields = { mode, message: text, url: text, task: optional(record), ...requestFields }
const byUrl = shape<ElicitUrlParams>({ ...urlFields, elicitationId: text })
const byBareUrl = shape<ElicitUrlParams>(urlFields)

/** Params of `elicitation/create`, in either mode; no mode is a form. */
export const elicitParams: Shape<ElicitParams> = (value: unknown): Problem | undefined =>
  isObject(value) && value.mode === 'url' ? byUrl(value) : byForm(value)

/** The same within a result of 2026-07-28, where a page has no id. */
export const embeddedElicitParams: Shape<ElicitParams> = (value: unknown): Problem | undefined =>
  isObject(value) && value.mode === 'url' ? byBareUrl(value) : byForm(value)

/** Result of `elicitation/create`. */
export const elicitResult: Shape<ElicitResult> = shape<ElicitResult>({
  action: oneOf('accept', 'decline', 'cancel'),
  content: optional(record),
  ...otherFields,
})

/** Params of `notifications/elicitation/complete`. */
export const elicitationCompleteParams: Shape<ElicitationCompleteParams> = shape<ElicitationCompleteParams>({
  elicitationId: text,
  ...otherFields,
})

import { isObject } from '../../wire/json.js'
import {
  finite,
  flag,
  listOf,
  oneOf,
  optional,
  type Problem,
  recordOf,
  type Shape,
  shape,
  text,
} from '../shape.js'
import type {
  CompleteParams,
  CompleteResult,
  Completion,
  PromptReference,
  ResourceTemplateReference,
} from '../types/completion.js'
import { otherFields, requestFields } from './base.js'

const type = oneOf('ref/prompt', 'ref/resource')
const toPrompt = shape<PromptReference>({ type, name: text, title: optional(text) })
const toResource = shape<ResourceTemplateReference>({ type, uri: text })

/** Params of `completion/complete`. */
export const completeParams: Shape<CompleteParams> = shape<CompleteParams>({
  ref: reference,
  argument: shape<CompleteParams['argument']>({ name: text, value: text }),
  context: optional(shape<{ arguments?: object }>({ arguments: optional(recordOf(text)) })),
  ...requestFields,
})

/** Result of `completion/complete`. */
export const completeResult: Shape<CompleteResult> = shape<CompleteResult>({
  completion: shape<Completion>({
    values: listOf(text),
    total: optional(finite),
    hasMore: optional(flag),
  }),
  ...otherFields,
})

function reference(value: unknown): Problem | undefined {
  return isObject(value) && value.type === 'ref/resource' ? toResource(value) : toPrompt(value)
}

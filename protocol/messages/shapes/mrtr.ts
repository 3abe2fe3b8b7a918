import { isObject, kindOf } from '../../wire/json.js'
import { oneOf, optional, type Problem, recordOf, type Shape, shape, text } from '../shape.js'
import type { InputRequiredResult } from '../types/mrtr.js'
import { noParams, otherFields } from './base.js'
import { embeddedElicitParams } from './elicitation.js'
import { createMessageParams } from './sampling.js'

const questions = oneOf('elicitation/create', 'sampling/createMessage', 'roots/list')
const form = shape<{ method: string; params?: object }>({ method: questions, params: embeddedElicitParams })
const sampling = shape<{ method: string; params?: object }>({
  method: questions,
  params: createMessageParams,
})
const other = shape<{ method: string; params?: object }>({ method: questions, params: optional(noParams) })
const fields = shape<InputRequiredResult>({
  inputRequests: optional(recordOf(question)),
  requestState: optional(text),
  ...otherFields,
})

/** A result that asks for input: it has questions, a state to send back, or both. */
export const inputRequiredResult: Shape<InputRequiredResult> = (value: unknown): Problem | undefined => {
  const problem = fields(value)
  if (problem !== undefined || !isObject(value)) return problem
  if (value.inputRequests !== undefined || value.requestState !== undefined) return undefined
  return { path: '', expected: 'inputRequests or requestState', got: 'neither' }
}

function question(value: unknown): Problem | undefined {
  if (!isObject(value)) return { path: '', expected: 'an object', got: kindOf(value) }
  if (value.method === 'elicitation/create') return form(value)
  return value.method === 'sampling/createMessage' ? sampling(value) : other(value)
}

import { type BaseResult, noParams, resultFields } from './base.js'
import { type ElicitParams, embeddedElicitParams } from './elicitation.js'
import { type CreateMessageParams, createMessageParams } from './sampling.js'
import { chosen, loose, oneOf, optional, type Problem, recordOf, shape, text, unchecked } from './shape.js'

/** A question to the client inside a result (2026-07-28, MRTR): without id and envelope. */
export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitParams }
  | { method: 'sampling/createMessage'; params: CreateMessageParams }
  | { method: 'roots/list'; params?: object }

/** Questions by the key under which each is answered. */
export type InputRequests = Record<string, InputRequest>

/** The answer to a request that needs something of the client first; it has one of the two fields or both. */
export interface InputRequiredResult extends BaseResult {
  resultType: 'input_required'
  inputRequests?: InputRequests
  /** Opaque to the client, which sends it back as it is. */
  requestState?: string
}

const method = loose(oneOf('elicitation/create', 'sampling/createMessage', 'roots/list'))
const form = shape<InputRequest & { method: 'elicitation/create' }>({ method, params: embeddedElicitParams })
const sampling = shape<InputRequest & { method: 'sampling/createMessage' }>({
  method,
  params: createMessageParams,
})
const other = shape<InputRequest & { method: 'roots/list' }>({ method, params: optional(noParams) })
const question = chosen<InputRequest>(({ method }) => {
  if (method === 'elicitation/create') return form
  return method === 'sampling/createMessage' ? sampling : other
})
const fields = shape<InputRequiredResult>({
  ...resultFields,
  resultType: unchecked,
  inputRequests: optional(recordOf(question)),
  requestState: optional(text),
})

/** The check of `InputRequiredResult`: it has questions, a state to send back, or both. */
export function inputRequiredResult(value: unknown): Problem | undefined {
  const problem = fields(value)
  if (problem !== undefined) return problem
  const { inputRequests, requestState } = value as InputRequiredResult
  if (inputRequests !== undefined || requestState !== undefined) return undefined
  return { path: '', expected: 'inputRequests or requestState', got: 'neither' }
}

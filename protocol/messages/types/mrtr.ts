import type { BaseResult } from './base.js'
import type { ElicitParams } from './elicitation.js'
import type { CreateMessageParams } from './sampling.js'

/**
 * A question to the client inside a result (2026-07-28, MRTR): it has no id, and its params have no envelope.
 */
export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitParams }
  | { method: 'sampling/createMessage'; params: CreateMessageParams }
  | { method: 'roots/list'; params?: object }

/** Questions by the key under which each is answered. */
export type InputRequests = Record<string, InputRequest>

/**
 * The answer to a request that needs something of the client first; at least one of the two fields is there.
 */
export interface InputRequiredResult extends BaseResult {
  resultType: 'input_required'
  inputRequests?: InputRequests
  /** Opaque to the client, which sends it back as it is. */
  requestState?: string
}

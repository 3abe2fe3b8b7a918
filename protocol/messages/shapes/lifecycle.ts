import { optional, record, type Shape, shape, text } from '../shape.js'
import type { InitializeParams, InitializeResult } from '../types/lifecycle.js'
import { implementation, otherFields, requestFields } from './base.js'

/** Params of `initialize`. */
export const initializeParams: Shape<InitializeParams> = shape<InitializeParams>({
  protocolVersion: text,
  capabilities: record,
  clientInfo: implementation,
  ...requestFields,
})

/** Result of `initialize`. */
export const initializeResult: Shape<InitializeResult> = shape<InitializeResult>({
  protocolVersion: text,
  capabilities: record,
  serverInfo: implementation,
  instructions: optional(text),
  ...otherFields,
})

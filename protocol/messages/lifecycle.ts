import {
  type BaseResult,
  type CacheableResult,
  type Implementation,
  implementation,
  type RequestParams,
  requestFields,
  resultFields,
} from './base.js'
import type { ClientCapabilities, ServerCapabilities } from './capabilities.js'
import { finite, listOf, oneOf, optional, record, shape, text } from './shape.js'

/** Params of `initialize`: the revision the client would like to speak, what it offers and who it is. */
export interface InitializeParams extends RequestParams {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}

export const initializeParams = shape<InitializeParams>({
  protocolVersion: text,
  capabilities: record,
  clientInfo: implementation,
  ...requestFields,
})

/** Result of `initialize`: the revision that will be spoken, which need not be the one asked for. */
export interface InitializeResult extends BaseResult {
  protocolVersion: string
  capabilities: ServerCapabilities
  serverInfo: Implementation
  /** How to use the server, for the model. */
  instructions?: string
}

export const initializeResult = shape<InitializeResult>({
  protocolVersion: text,
  capabilities: record,
  serverInfo: implementation,
  instructions: optional(text),
  ...resultFields,
})

/**
 * Result of `server/discover` (2026-07-28), which takes the place of `initialize`; `_meta` has the server's
 * name.
 */
export interface DiscoverResult extends CacheableResult {
  /** The revisions that can be spoken without a handshake. */
  supportedVersions: string[]
  capabilities: ServerCapabilities
  /** How to use the server, for the model. */
  instructions?: string
}

export const discoverResult = shape<DiscoverResult>({
  supportedVersions: listOf(text),
  capabilities: record,
  instructions: optional(text),
  ttlMs: optional(finite),
  cacheScope: optional(oneOf('public', 'private')),
  ...resultFields,
})

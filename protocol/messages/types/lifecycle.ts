import type { BaseResult, Implementation, RequestParams } from './base.js'
import type { ClientCapabilities, ServerCapabilities } from './capabilities.js'

/** Params of `initialize`: the revision the client would like to speak, what it offers and who it is. */
export interface InitializeParams extends RequestParams {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}

/** Result of `initialize`: the revision that will be spoken, which need not be the one asked for. */
export interface InitializeResult extends BaseResult {
  protocolVersion: string
  capabilities: ServerCapabilities
  serverInfo: Implementation
  /** How to use the server, for the model. */
  instructions?: string
}

export {
  Client,
  type ClientInspection,
  type RequestArgs,
  type RequestMethod,
  type ToolsOptions,
} from './client.js'
export { clientSpec, findClient, startClient } from './client-supervisor.js'
export { withClient } from './with-client.js'
export { type CallErrorData, ClientError, type ClientErrorCode } from './errors.js'
export type { BackoffOptions, CallOptions, ClientOptions, StartClientOptions } from './options.js'
export type { ToolResult } from './results.js'
export type { ClientCounts, ClientState, Phase, ServerFacts } from './state.js'
export type { Undo } from './holdings.js'

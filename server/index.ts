export type { SessionFacts, ToolContext } from './context.js'
export { defineServer, type ServerDefinition, type ServerDefinitionOptions } from './define-server.js'
export { defineTool, type ToolDefinition, type ToolOptions } from './define-tool.js'
export { ServerError, type ServerErrorCode, ToolError } from './errors.js'
export type { ServerOptions } from './options.js'
export { json, text, type ToolReturn } from './results.js'
export type { ArgumentsOf, FromJsonSchema } from './schema-arguments.js'
export { Server } from './server.js'
export { serverSpec, startServer } from './server-supervisor.js'
export type { SessionInfo } from './session-actor.js'
export {
  createMemoryStore,
  type MemoryStoreOptions,
  type SessionRecord,
  type SessionStore,
} from './session-store.js'

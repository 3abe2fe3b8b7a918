export type { AskMethod, AskOptions, Elicitation, Sampling } from './ask.js'
export type { Completer, Completers } from './completer.js'
export type { SessionFacts, ToolContext } from './context.js'
export {
  definePrompt,
  type PromptArgumentsOf,
  type PromptDefinition,
  type PromptOptions,
} from './define-prompt.js'
export {
  defineResource,
  defineResourceTemplate,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './define-resource.js'
export { defineServer, type ServerDefinition, type ServerDefinitionOptions } from './define-server.js'
export { defineTool, type ToolDefinition, type ToolOptions } from './define-tool.js'
export { AskError, type AskErrorCode, ServerError, type ServerErrorCode, ToolError } from './errors.js'
export {
  type NotificationEvent,
  type RequestEvent,
  type ServerEvents,
  type SessionEvent,
  type SessionOrigin,
  subscribeServer,
} from './events.js'
export { createFileStore } from './file-store.js'
export type { FileStoreOptions } from './file-store-options.js'
export type { ServerOptions } from './options.js'
export {
  type Contents,
  json,
  type PromptReturn,
  type ResourceReturn,
  text,
  type ToolReturn,
} from './results.js'
export type { ArgumentsOf, FromJsonSchema } from './schema-arguments.js'
export { type SealedIds, type SealedIdsOptions, sealedIds } from './sealed-ids.js'
export { Server } from './server.js'
export { serverSpec, startServer } from './server-supervisor.js'
export type { SessionInfo } from './session-actor.js'
export type { EndedSession, SessionContext, SessionHooks } from './session-hooks.js'
export {
  createMemoryStore,
  type MemoryStoreOptions,
  type SessionRecord,
  type SessionStore,
} from './session-store.js'
export type { StartCondition } from './start-condition.js'

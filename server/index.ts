export { type App, type AppContext, type AppTypes, createApp, type Typed } from './app.js'
export type { AskMethod, AskOptions, Elicitation, Sampling } from './ask.js'
export {
  type PromptResultBuilder,
  promptResult,
  type ResourceResultBuilder,
  resourceResult,
  type ToolResultBuilder,
  toolResult,
} from './builders.js'
export type { CacheOptions } from './cache-options.js'
export type { Completer, Completers } from './completer.js'
export type { OpenSessionFacts, SessionFacts, ToolContext } from './context.js'
export { defineMethod, type MethodDefinition, type MethodOptions, type ParamsOf } from './define-method.js'
export {
  definePrompt,
  type PromptArguments,
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
export {
  defineTool,
  type NameOf,
  type StructuredReturn,
  type StructuredToolOptions,
  type ToolDefinition,
  type ToolOptions,
} from './define-tool.js'
export type { DeferredAnswer } from './deferred-answer.js'
export type { Described } from './definition-schema.js'
export { AskError, type AskErrorCode, ServerError, type ServerErrorCode, ToolError } from './errors.js'
export {
  type NotificationEvent,
  type RequestEvent,
  type RequestOrigin,
  type ServerEvents,
  type SessionEvent,
  type SessionOrigin,
  subscribeServer,
} from './events.js'
export { createFileStore } from './file-store.js'
export type { FileStoreOptions } from './file-store-options.js'
export { resolveInside } from './file-roots.js'
export type {
  LowLevelOptions,
  NoticeContext,
  NotificationHandler,
  RequestHandler,
} from './low-level.js'
export { type Named, nameFrom } from './named.js'
export type { ServerOptions } from './options.js'
export type { ParkingOptions } from './parking.js'
export type { Presented } from './presented.js'
export type { RequestFacts, TransportFacts } from './request-facts.js'
export {
  type Contents,
  json,
  type PromptReturn,
  type ResourceReturn,
  text,
  type ToolReturn,
} from './results.js'
export type { CalendarDate, ClockTime, NaiveDateTime, ZonedDateTime } from '../protocol/calendar.js'
export type { Field, FieldNotes, Presence } from '../protocol/schema-field.js'
export type { FieldInput, FieldRecord, ListLimits } from '../protocol/schema-field-groups.js'
export type { NumberLimits, TextLimits } from '../protocol/schema-field-kinds.js'
export type { GroupOutput, OutputOf } from '../protocol/schema-field-types.js'
export { field } from '../protocol/schema-fields.js'
export type { FromJsonSchema } from '../protocol/json-schema-types.js'
export type { ArgumentsOf, Immutable, StructuredOf } from './schema-arguments.js'
export { type SealedIds, type SealedIdsOptions, sealedIds } from './sealed-ids.js'
export type { Secrets } from './sealing.js'
export { Server } from './server.js'
export { serverSpec, startServer } from './server-supervisor.js'
export type { SessionInfo } from './session-actor.js'
export type { EndedSession, SessionContext, SessionHooks, SessionStart } from './session-hooks.js'
export {
  createMemoryStore,
  type MemoryStoreOptions,
  type SessionRecord,
  type SessionStore,
} from './session-store.js'
export type { StartCondition } from './start-condition.js'

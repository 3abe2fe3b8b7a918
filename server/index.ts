export { type App, type AppContext, type AppTypes, createApp, type Typed } from './definitions/app.js'
export type { AskMethod, AskOptions, Elicitation, Sampling } from './context/ask.js'
export {
  type PromptResultBuilder,
  promptResult,
  type ResourceResultBuilder,
  resourceResult,
  type ToolResultBuilder,
  toolResult,
} from './results/builders.js'
export type { CacheOptions } from './definitions/cache-options.js'
export type { Completer, Completers } from './definitions/completer.js'
export type { OpenSessionFacts, SessionFacts, ToolContext } from './context/context.js'
export {
  defineMethod,
  type MethodDefinition,
  type MethodOptions,
  type ParamsOf,
} from './definitions/define-method.js'
export {
  definePrompt,
  type IsolatedPromptOptions,
  type PromptArguments,
  type PromptArgumentsOf,
  type PromptDefinition,
  type PromptOptions,
} from './definitions/define-prompt.js'
export {
  defineResource,
  defineResourceTemplate,
  type IsolatedResourceOptions,
  type IsolatedResourceTemplateOptions,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './definitions/define-resource.js'
export {
  type AnyTools,
  defineServer,
  type Named,
  nameFrom,
  type ServedBy,
  type ServerDefinition,
  type ServerDefinitionOptions,
} from './definitions/define-server.js'
export {
  defineTool,
  type IsolatedToolOptions,
  type StructuredReturn,
  type StructuredToolOptions,
  type TaskSupport,
  type ToolDefinition,
  type ToolOptions,
  type TypesFor,
} from './definitions/define-tool.js'
export type { Audit, AuditEntry } from './base/audit.js'
export type { PinMode, PinnedDefinition, Pins } from './definitions/pins.js'
export type { DeferredAnswer } from './context/deferred-answer.js'
export type { Described, ArgumentsOf, Immutable, StructuredOf } from './definitions/described.js'
export { AskError, type AskErrorCode, ServerError, type ServerErrorCode, ToolError } from './base/errors.js'
export {
  type GatewayEvent,
  type NodeEvent,
  type ServerNoticeEvent,
  type NotificationEvent,
  type RequestEvent,
  type RequestOrigin,
  type ServerEvents,
  type SessionEvent,
  type SessionOrigin,
  subscribeServer,
} from './base/events.js'
export type { TaskAnswer, TaskEnd, TaskQuestion, TaskRecord, TaskStore } from './engine/task-store.js'
export type { TasksOptions } from './holdings/task-options.js'
export { resolveInside } from './definitions/file-roots.js'
export type {
  LowLevelOptions,
  NoticeContext,
  NotificationHandler,
  RequestHandler,
} from './definitions/low-level.js'
export type {
  RateOptions,
  ServerLimitOptions,
  ServerOptions,
  StartCondition,
  ServerTimeoutOptions,
} from './holdings/options.js'
export type { IsolationOptions } from './isolation/options.js'
export type { NameOf, Presented } from './definitions/component.js'
export type { RequestFacts, TransportFacts } from './context/request-facts.js'
export {
  type Contents,
  json,
  type PromptReturn,
  type ResourceReturn,
  text,
  type ToolReturn,
} from './results/results.js'
export type {
  CalendarDate,
  ClockTime,
  NaiveDateTime,
  ZonedDateTime,
} from '../protocol/schema/fields/calendar.js'
export type { Field, FieldNotes, Presence } from '../protocol/schema/fields/field.js'
export type { FieldInput, FieldRecord, ListLimits } from '../protocol/schema/fields/groups.js'
export type { NumberLimits, TextLimits } from '../protocol/schema/fields/kinds.js'
export type { GroupOutput, OutputOf } from '../protocol/schema/fields/types.js'
export { field } from '../protocol/schema/fields/fields.js'
export type { FromJsonSchema } from '../protocol/schema/fields/types.js'
export type { Secrets } from './base/sealing.js'
export { ServerProcesses } from './processes/handle.js'
export type { ProcessesOptions } from './processes/options.js'
export { type FilesOptions, files } from './engine/files.js'
export { inMemory } from './engine/in-memory.js'
export type { LocalEngine, ServerEngine } from './engine/local-engine.js'
export { type RecordsOptions, records } from './engine/records.js'
export { sealed } from './engine/sealed.js'
export type { SealedOptions } from './engine/sealed-ids.js'
export {
  type Bell,
  type Claimed,
  type ClaimRequest,
  type ClusterEngine,
  type ClusterSettings,
  type Engine,
  type HeldClaim,
  type Listed,
  type Members,
  type News,
  type NodeFacts,
  type NodeName,
  type SavedRecord,
  type StreamEntry,
  type StreamLimits,
  type StreamPlace,
  taskMark,
} from './engine/engine.js'
export { type RedisClusterOptions, redis } from './redis/redis.js'
export { Server } from './server.js'
export { type SkillsOptions, skillsFrom } from './skills/skills-from.js'
export type { ExtensionSettings } from './definitions/extensions.js'
export type { SkillDefinition, SkillFolderChild, SkillsDefinition } from './definitions/skills.js'
export { serverSpec, startServer } from './server-supervisor.js'
export type { SessionInfo } from './sessions/session-actor.js'
export type { EndedSession, SessionContext, SessionHooks, SessionStart } from './definitions/session-hooks.js'
export type { SessionRecord, SessionStore } from './engine/session-store.js'
export { gateway } from './definitions/gateway.js'
export type {
  BreakerOptions,
  GatewayOptions,
  GatewayPlan,
  UpstreamLimits,
  UpstreamOptions,
  UpstreamSource,
} from './definitions/gateway-options.js'
export type {
  Seat,
  SeatAnswers,
  SeatQuestion,
  StartedUpstream,
  StartUpstream,
  Upstream,
  UpstreamCall,
  Upstreams,
} from './definitions/upstreams.js'

export { type OpenBatch, openBatch } from './dialects/batch.js'
export { cacheableMethods, notKept, readCacheHints } from './stateless/stamp.js'
export {
  elicitationModes,
  hasCapability,
  missingCapability,
  missingForQuestion,
  type Question,
} from './dialects/capabilities.js'
export { type Batch, type DecodeLimits, decode, encode, encodeBatch } from './wire/codec.js'
export { limitCompletion, maxCompletionValues } from './messages/completion.js'
export { annotationsOf } from './messages/content.js'
export {
  acceptsNotification,
  acceptsRequest,
  type Dialect,
  type DialectErrors,
  type Revision,
} from './dialects/dialect.js'
export { dialect20241105 } from './dialects/2024-11-05.js'
export { dialect20250326 } from './dialects/2025-03-26.js'
export { dialect20250618 } from './dialects/2025-06-18.js'
export { dialect20251125 } from './dialects/2025-11-25.js'
export { dialect20260728 } from './dialects/2026-07-28.js'
export {
  claimsEnvelope,
  type Envelope,
  type EnvelopeProblems,
  metaKeys,
  readEnvelope,
  writeEnvelope,
} from './stateless/envelope.js'
export {
  checkModernHeaders,
  eraOfHttp,
  type FoundBy,
  type HttpEra,
  modernStatusOf,
  type Pinned,
  type Pinning,
  pin,
  unsupported,
} from './stateless/era.js'
export {
  errorCodes,
  isResourceNotFound,
  type JsonRpcError,
  McpError,
  ProtocolError,
  type ProtocolErrorCode,
  type ProtocolErrorDetails,
  toJsonRpcError,
} from './wire/errors.js'
export { urlElicitations } from './messages/elicitation.js'
export { fitError, fitNotification, fitParams, fitResult } from './dialects/fit.js'
export { decodeHeaderValue, encodeHeaderValue, type RequestHeaders } from './stateless/headers.js'
export {
  embedQuestion,
  missingClientCapabilities,
  type Outcome,
  readOutcome,
  retriedMethods,
  retryParams,
} from './stateless/input-required.js'
export type { JsonObject } from './wire/json.js'
export {
  answerInvalid,
  buildError,
  buildNotification,
  buildRequest,
  buildResult,
  type InvalidMessage,
  isNotification,
  isRequest,
  isRequestId,
  isResponse,
  type JsonRpcErrorResponse,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResult,
  type Message,
  type RequestId,
  readMessage,
} from './wire/jsonrpc.js'
export type { LackingFields, Lacks } from './dialects/dialect.js'
export {
  createLineDecoder,
  type LineDecoder,
  type LineDecoderOptions,
  type LineItem,
  type LineStats,
} from './wire/lines.js'
export { isLoggingLevel, isWantedLevel, loggingLevels } from './messages/logging.js'
export {
  type Direction,
  isMethod,
  isNotificationMethod,
  type Method,
  type MethodRow,
  type Methods,
  methods,
  type NotificationMethod,
  type NotificationParams,
  type NotificationRow,
  type Notifications,
  type NotificationTo,
  notifications,
  type Params,
  type ParamsArgument,
  type RequestTo,
  type Result,
  type Side,
} from './messages/methods.js'
export {
  checkParamHeaders,
  type HeaderParam,
  type HeaderPlan,
  type HeaderPlanOptions,
  headerParams,
  mirroredHeaders,
  paramHeaders,
} from './stateless/headers.js'
export { readNotificationParams, readParams, readResult } from './messages/params.js'
export { readFrontMatter } from './skills/front-matter.js'
export { readSkillFiles, skillLimits } from './skills/entry.js'
export type {
  GetSkillParams,
  GetSkillResult,
  ListSkillsResult,
  ReadDirectoryParams,
  ReadDirectoryResult,
  SkillEntry,
  SkillResource,
} from './messages/skills.js'
export { judgeProbe, type Probe, type ProbeOutcome, type ProbeVerdict } from './stateless/probe.js'
export {
  type Parsed,
  type Schema,
  type SchemaInput,
  type SchemaOutput,
  type SchemaSide,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
  toSchema,
} from './schema/schema.js'
export type { CalendarDate, ClockTime, NaiveDateTime, ZonedDateTime } from './schema/fields/calendar.js'
export type { Field, FieldNotes, Presence } from './schema/fields/field.js'
export type { FieldInput, FieldRecord, ListLimits } from './schema/fields/groups.js'
export type { NumberLimits, TextLimits } from './schema/fields/kinds.js'
export type { GroupOutput, OutputOf } from './schema/fields/types.js'
export { field } from './schema/fields/fields.js'
export type { Issue } from './schema/issues.js'
export { schemaLimits } from './schema/limits.js'
export { createEventDecoder, type EventDecoder, type EventDecoderOptions, type SseItem } from './wire/sse.js'
export { comment, encodeEvent, type OutgoingSseEvent, type SseEvent } from './wire/sse-events.js'
export type {
  Annotations,
  BaseMetadata,
  BaseNotificationParams,
  BaseResult,
  CacheableResult,
  CacheHints,
  CacheScope,
  Cursor,
  Icon,
  Implementation,
  InputResponses,
  Meta,
  PaginatedParams,
  PaginatedResult,
  ProgressToken,
  RequestMeta,
  RequestParams,
  RetryParams,
  Role,
} from './messages/base.js'
export type { ClientCapabilities, Flag, ServerCapabilities } from './messages/capabilities.js'
export type {
  CompleteParams,
  CompleteResult,
  Completion,
  PromptReference,
  ResourceTemplateReference,
} from './messages/completion.js'
export type {
  AudioContent,
  BlobResourceContents,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  Resource,
  ResourceLink,
  TextContent,
  TextResourceContents,
} from './messages/content.js'
export type {
  BooleanField,
  ChoiceField,
  ChoicesField,
  ElicitationCompleteParams,
  ElicitationMode,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  FormField,
  FormSchema,
  NumberField,
  TextField,
  TitledChoice,
  TitledChoiceField,
} from './messages/elicitation.js'
export type { DiscoverResult, InitializeParams, InitializeResult } from './messages/lifecycle.js'
export type { LoggingLevel, LoggingMessageParams, SetLevelParams } from './messages/logging.js'
export type { InputRequest, InputRequests, InputRequiredResult } from './messages/input-required.js'
export type { CancelledParams, ProgressParams } from './messages/progress.js'
export type {
  GetPromptParams,
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from './messages/prompts.js'
export type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  ResourceRequestParams,
  ResourceTemplate,
  ResourceUpdatedParams,
} from './messages/resources.js'
export type { ListRootsResult, Root } from './messages/roots.js'
export type {
  CreateMessageParams,
  CreateMessageResult,
  ModelHint,
  ModelPreferences,
  SamplingContent,
  SamplingMessage,
  ToolChoice,
  ToolResultContent,
  ToolUseContent,
} from './messages/sampling.js'
export { type Stamp, stampResult } from './stateless/stamp.js'
export type {
  AcknowledgedParams,
  ListenParams,
  ListenResult,
  SubscriptionFilter,
} from './messages/subscriptions.js'
export type { Task, TaskStatus } from './messages/tasks.js'
export type { ListTasksResult } from './messages/told-tasks.js'
export type {
  CallToolParams,
  CallToolResult,
  ListToolsResult,
  ObjectSchema,
  TaskMetadata,
  Tool,
  ToolAnnotations,
  ToolExecution,
} from './messages/tools.js'
export type { ServerTypes, ToolTypes, TypesOf } from './messages/server-types.js'
export { parseUriTemplate, type TemplateVariables, type UriTemplate } from './uri-template/uri-template.js'
export {
  acceptRevision,
  allHandshakeDialects,
  allRevisions,
  dialectOf,
  handshakeRevisions,
  isSupported,
  isModernRevision,
  latestHandshake,
  modernDialectOf,
  modernDialects,
  modernRevisions,
  negotiate,
  revisionWithoutHeader,
} from './dialects/versions.js'

export { hasCapability, missingCapability } from './capabilities.js'
export { type Batch, type DecodeLimits, decode, encode } from './codec.js'
export { acceptsNotification, acceptsRequest, type Dialect, type Revision } from './dialect.js'
export { dialect20251125 } from './dialects/2025-11-25.js'
export {
  errorCodes,
  type JsonRpcError,
  McpError,
  ProtocolError,
  type ProtocolErrorCode,
  type ProtocolErrorDetails,
  toJsonRpcError,
} from './errors.js'
export type { JsonObject } from './json.js'
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
} from './jsonrpc.js'
export {
  createLineDecoder,
  type LineDecoder,
  type LineDecoderOptions,
  type LineItem,
  type LineStats,
} from './lines.js'
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
} from './methods.js'
export { decodeCursor, encodeCursor, type Page, paginate } from './page.js'
export { readNotificationParams, readParams, readResult } from './params.js'
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
} from './schema.js'
export type { Issue } from './schema-issues.js'
export { schemaLimits } from './schema-limits.js'
export {
  comment,
  createEventDecoder,
  type EventDecoder,
  type EventDecoderOptions,
  encodeEvent,
  type OutgoingSseEvent,
  type SseEvent,
  type SseItem,
} from './sse.js'
export type {
  Annotations,
  BaseMetadata,
  BaseNotificationParams,
  BaseResult,
  Cursor,
  Icon,
  Implementation,
  Meta,
  PaginatedParams,
  PaginatedResult,
  ProgressToken,
  RequestMeta,
  RequestParams,
  Role,
} from './types/base.js'
export type { ClientCapabilities, Flag, ServerCapabilities } from './types/capabilities.js'
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
} from './types/content.js'
export type { InitializeParams, InitializeResult } from './types/lifecycle.js'
export type {
  CancelledParams,
  LoggingLevel,
  LoggingMessageParams,
  ProgressParams,
} from './types/notifications.js'
export type {
  CallToolParams,
  CallToolResult,
  ListToolsResult,
  ObjectSchema,
  TaskMetadata,
  Tool,
  ToolAnnotations,
  ToolExecution,
} from './types/tools.js'
export {
  acceptRevision,
  dialectOf,
  handshakeDialects,
  isSupported,
  latestHandshake,
  negotiate,
} from './versions.js'

export { type AiTool, toAiTools } from './client/adapters/ai-sdk.js'
export { type LangChainTool, toLangChainTools } from './client/adapters/lang-chain.js'
export type { ModelToolsOptions, ToolSource } from './client/adapters/model-tools.js'
export { type OpenAiTools, toOpenAiTools } from './client/adapters/openai.js'
export { fileAuthStorage } from './client/auth/file-storage.js'
export { loopbackSignIn } from './client/auth/loopback.js'
export type { OAuthOptions, SignIn } from './client/auth/options.js'
export { type OAuth, oauth } from './client/auth/provider.js'
export { type RedisAuthStorageOptions, redisAuthStorage } from './client/auth/redis-storage.js'
export { type AuthStorage, memoryAuthStorage } from './client/auth/storage.js'
export { Client, type ClientInspection } from './client/handle/client.js'
export {
  clientActorSpec,
  clientSpec,
  findClient,
  startClient,
  transportSpec,
} from './client/handle/supervisor.js'
export { Clients, startClients } from './client/fleet/clients.js'
export type { ServerEntries, SharedClientOptions, StartClientsOptions } from './client/fleet/options.js'
export { type CallErrorData, ClientError, type ClientErrorCode } from './client/base/errors.js'
export { type ClientEvents, subscribeClient } from './client/base/events.js'
export type { AnswerOptions, QuestionContext } from './client/options/answers.js'
export { NotificationTarget } from './client/handle/notification-target.js'
export type { CallOptions, ToolCallOptions } from './client/options/call-options.js'
export type { RetryOption, RetryPolicy } from './client/options/retry.js'
export type { ClientOptions, HealthOptions, StartClientOptions } from './client/options/options.js'
export type { PromptResult, ResourceResult, ToolResult } from './client/requests/results.js'
export { ClientPool, startClientPool } from './client/pool/pool.js'
export type { PoolEvent } from './client/pool/member.js'
export type { Lease } from './client/pool/lease.js'
export type { CheckoutOptions, PoolOptions, PoolStrategy } from './client/pool/options.js'
export { type Share, shareClients, shareSpec } from './client/share/share.js'
export type { Shareable, ShareOptions } from './client/share/options.js'
export type { ServerEntry } from './client/fleet/server-entry.js'
export type { ClientState, Phase } from './client/base/state.js'
export type { Skill, SkillFile } from './client/skills/skill.js'
export type { AllTools, TypedTools } from './client/handle/typed-tools.js'
export { withClient } from './client/handle/with-client.js'
export type { ServerTypes, ToolTypes } from './protocol/messages/server-types.js'
export { McpError, ProtocolError } from './protocol/wire/errors.js'
export type {
  CalendarDate,
  ClockTime,
  NaiveDateTime,
  ZonedDateTime,
} from './protocol/schema/fields/calendar.js'
export type { Field } from './protocol/schema/fields/field.js'
export { field } from './protocol/schema/fields/fields.js'
export { type ChildSpec, childSpec } from './runtime/supervision/child-spec.js'
export { CaduceusError, RuntimeError } from './runtime/base/errors.js'
export { formatTree, type Inspectable, inspect, type TreeNode } from './runtime/watch/inspect.js'
export { Registry } from './runtime/process/registry.js'
export { startSupervisor, type Supervisor, supervisorSpec } from './runtime/supervision/supervise.js'
export type { SupervisorOptions } from './runtime/supervision/options.js'
export { type App, type AppContext, type AppTypes, createApp } from './server/definitions/app.js'
export {
  type PromptResultBuilder,
  promptResult,
  type ResourceResultBuilder,
  resourceResult,
  type ToolResultBuilder,
  toolResult,
} from './server/results/builders.js'
export type { ToolContext } from './server/context/context.js'
export {
  defineMethod,
  type MethodDefinition,
  type MethodOptions,
} from './server/definitions/define-method.js'
export {
  definePrompt,
  type PromptDefinition,
  type PromptOptions,
} from './server/definitions/define-prompt.js'
export {
  defineResource,
  defineResourceTemplate,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './server/definitions/define-resource.js'
export { defineServer, type ServedBy, type ServerDefinition } from './server/definitions/define-server.js'
export {
  defineTool,
  type StructuredToolOptions,
  type ToolDefinition,
  type ToolOptions,
  type TypesFor,
} from './server/definitions/define-tool.js'
export { AskError, ServerError, ToolError } from './server/base/errors.js'
export type { DeferredAnswer } from './server/context/deferred-answer.js'
export { resolveInside } from './server/definitions/file-roots.js'
export { type FilesOptions, files } from './server/engine/files.js'
export { inMemory } from './server/engine/in-memory.js'
export type { ClusterEngine } from './server/engine/engine.js'
export type { LocalEngine, ServerEngine } from './server/engine/local-engine.js'
export { type RecordsOptions, records } from './server/engine/records.js'
export { sealed } from './server/engine/sealed.js'
export type { SealedOptions } from './server/engine/sealed-ids.js'
export type { TasksOptions } from './server/holdings/task-options.js'
export type { TaskStore } from './server/engine/task-store.js'
export type { ServerOptions } from './server/holdings/options.js'
export { json, text } from './server/results/results.js'
export type { ServerProcesses } from './server/processes/handle.js'
export { type RedisClusterOptions, redis } from './server/redis/redis.js'
export type { ProcessesOptions } from './server/processes/options.js'
export type { Server } from './server/server.js'
export { serverSpec, startServer } from './server/server-supervisor.js'
export { type SkillsOptions, skillsFrom } from './server/skills/skills-from.js'
export type { SessionHooks } from './server/definitions/session-hooks.js'
export type { SessionStore } from './server/engine/session-store.js'
export { introspection, type IntrospectionOptions } from './transports/auth/introspection.js'
export { jwt, type JwtOptions } from './transports/auth/jwt.js'
export type { AuthOptions } from './transports/auth/options.js'
export type { TokenVerifier } from './transports/auth/tokens.js'
export type { ClientTransport, ServerTransport } from './transports/contract/contract.js'
export { TransportError } from './transports/base/errors.js'
export type { AuthOption, ClientAuth } from './transports/http/client/auth.js'
export { http } from './transports/http/client/client.js'
export type { HttpOptions } from './transports/http/client/options.js'
export type { HttpServeOptions } from './transports/http/server/options.js'
export { serveHttp } from './transports/http/server/serve.js'
export { type MemoryOptions, type MemoryTransport, memory } from './transports/connections/memory.js'
export { type Mount, type MountedRequest, mount } from './transports/http/server/mount.js'
export type { MountOptions } from './transports/http/server/mount-options.js'
export type { Principal } from './transports/contract/principal.js'
export { shared, type SharedOptions } from './transports/shared/client.js'
export { sharedClients } from './transports/shared/list.js'
export { sse } from './transports/http/client/sse.js'
export { observe, type ObserveOptions, type Observation } from './transports/view/observe.js'
export { serveSse } from './transports/sse/serve.js'
export { stdio } from './transports/stdio/client.js'
export type { StdioOptions } from './transports/stdio/options.js'
export { type StdioServeOptions, serveStdio } from './transports/stdio/server.js'
export { websocket } from './transports/websocket/client.js'
export { serveWebSocket } from './transports/websocket/serve.js'
export { gateway } from './server/definitions/gateway.js'
export type { GatewayOptions, UpstreamOptions, UpstreamSource } from './server/definitions/gateway-options.js'
export type { Seat } from './server/definitions/upstreams.js'

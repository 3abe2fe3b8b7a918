export { type AiOutput, type AiSchema, type AiTool, toAiTools } from './adapters/ai-sdk.js'
export { type LangChainTool, toLangChainTools } from './adapters/lang-chain.js'
export type { ModelToolsOptions, ToolSource } from './adapters/model-tools.js'
export {
  type OpenAiCall,
  type OpenAiFunction,
  type OpenAiTools,
  toOpenAiTools,
} from './adapters/openai.js'
export type {
  AnswerOptions,
  ElicitForm,
  ElicitUrl,
  QuestionContext,
  Sample,
} from './options/answers.js'
export { fileAuthStorage } from './auth/file-storage.js'
export { type LoopbackOptions, loopbackSignIn } from './auth/loopback.js'
export type {
  EnterpriseOptions,
  KeyAlgorithm,
  OAuthOptions,
  RegisteredClient,
  ReturnedSignIn,
  SignIn,
  SignInSession,
  WorkloadOptions,
  WorkloadRequest,
} from './auth/options.js'
export { OAuth, oauth } from './auth/provider.js'
export { type RedisAuthStorageOptions, redisAuthStorage } from './auth/redis-storage.js'
export { type AuthStorage, memoryAuthStorage } from './auth/storage.js'
export type { CallOptions, ToolCallOptions } from './options/call-options.js'
export type { RetryBudgetOptions, RetryOption, RetryPolicy } from './options/retry.js'
export { Client, type ClientInspection, type RequestArgs, type RequestMethod } from './handle/client.js'
export { clientActorSpec, clientSpec, findClient, startClient, transportSpec } from './handle/supervisor.js'
export { Clients, type ClientsReadyOptions, startClients } from './fleet/clients.js'
export type {
  HostConfiguration,
  ServerEntries,
  SharedClientOptions,
  StartClientsOptions,
} from './fleet/options.js'
export type { BackoffOptions } from './base/backoff.js'
export { type CallErrorData, ClientError, type ClientErrorCode } from './base/errors.js'
export {
  type CallEvent,
  type ClientEvents,
  type LogEvent,
  type StateEvent,
  subscribeClient,
  type WarningEvent,
} from './base/events.js'
export { NotificationTarget } from './handle/notification-target.js'
export type { ClientOptions, EraOption, HealthOptions, StartClientOptions } from './options/options.js'
export type { PageOptions, PagesOptions } from './requests/pages.js'
export { ClientPool, type PoolInspection, type PoolReadyOptions, startClientPool } from './pool/pool.js'
export type { Lease } from './pool/lease.js'
export type { MemberSnapshot, MemberStatus, PoolEvent, PoolEventType } from './pool/member.js'
export type { CheckoutOptions, PoolHealthOptions, PoolOptions, PoolStrategy } from './pool/options.js'
export type { PromptResult, ResourceResult, ToolResult } from './requests/results.js'
export type { AllTools, TypedCall, TypedToolResult, TypedTools } from './handle/typed-tools.js'
export type { StartedTask } from './requests/task-runs.js'
export { Tasks } from './requests/tasks.js'
export type { CommandEntry, ServerEntry, TransportEntry, UrlEntry } from './fleet/server-entry.js'
export { Share, shareClients, shareSpec } from './share/share.js'
export type { SharePeer } from './share/desk.js'
export type { Shareable, ShareLimitOptions, ShareLimits, ShareOptions } from './share/options.js'
export type { ClientCounts, ClientState, Phase, ServerFacts, Undo } from './base/state.js'
export type { Skill, SkillFile } from './skills/skill.js'
export type { ReadyOptions } from './requests/ready.js'
export { withClient } from './handle/with-client.js'

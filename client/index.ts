export type {
  AnswerOptions,
  ElicitForm,
  ElicitUrl,
  QuestionContext,
  Sample,
} from './answers.js'
export { fileAuthStorage } from './auth-file-storage.js'
export { type LoopbackOptions, loopbackSignIn } from './auth-loopback.js'
export type {
  EnterpriseOptions,
  KeyAlgorithm,
  OAuthOptions,
  RegisteredClient,
  SignIn,
  SignInSession,
} from './auth-options.js'
export { OAuth, oauth } from './auth-provider.js'
export { type AuthStorage, memoryAuthStorage } from './auth-storage.js'
export type { CallOptions } from './call-options.js'
export type { RetryOption, RetryPolicy } from './retry.js'
export { Client, type ClientInspection, type RequestArgs, type RequestMethod } from './client.js'
export { clientSpec, findClient, startClient } from './client-supervisor.js'
export { Clients, type ClientsReadyOptions } from './clients.js'
export type {
  HostConfiguration,
  ServerEntries,
  SharedClientOptions,
  StartClientsOptions,
} from './clients-options.js'
export { type CallErrorData, ClientError, type ClientErrorCode } from './errors.js'
export {
  type CallEvent,
  type ClientEvents,
  type LogEvent,
  type StateEvent,
  subscribeClient,
  type WarningEvent,
} from './events.js'
export type { HealthOptions } from './health.js'
export type { Undo } from './holdings.js'
export { NotificationTarget } from './notification-target.js'
export type { BackoffOptions, ClientOptions, StartClientOptions } from './options.js'
export type { PageOptions, PagesOptions } from './pages.js'
export { ClientPool, type PoolInspection, type PoolReadyOptions } from './pool.js'
export type { PoolEvent, PoolEventType } from './pool-events.js'
export type { Lease } from './pool-lease.js'
export type { MemberSnapshot, MemberStatus } from './pool-member.js'
export type { CheckoutOptions, PoolHealthOptions, PoolOptions, PoolStrategy } from './pool-options.js'
export type { EraOption } from './probe.js'
export type { PromptResult, ResourceResult, ToolResult } from './results.js'
export type { RetryBudgetOptions } from './retry-budget.js'
export type { CommandEntry, ServerEntry, TransportEntry, UrlEntry } from './server-entry.js'
export { Share } from './share.js'
export type { SharePeer } from './share-desk.js'
export type { Shareable, ShareLimits, ShareOptions } from './share-options.js'
export { shareClients, shareSpec } from './share-supervisor.js'
export { startClients } from './start-clients.js'
export { startClientPool } from './start-pool.js'
export type { ClientCounts, ClientState, Phase, ServerFacts } from './state.js'
export { clientActorSpec, transportSpec } from './transport-spec.js'
export type { ReadyOptions } from './when-ready.js'
export { withClient } from './with-client.js'

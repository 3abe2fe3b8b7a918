export { introspection, type IntrospectionOptions } from './auth/introspection.js'
export { jwt, type JwtOptions } from './auth/jwt.js'
export type { DPoPOptions, SeenProof } from './auth/dpop.js'
export type { AuthOptions } from './auth/options.js'
export type { TokenExchangeOptions } from './auth/token-exchange.js'
export type { UpstreamLogin } from './authorization/upstream-logins.js'
export type { OwnServer } from './auth/own-server.js'
export {
  github,
  type GithubOptions,
  type IdentityProvider,
  oauth2,
  type OAuth2Options,
  oidc,
  type OidcOptions,
  type SignedInUser,
  type UserFacts,
} from './authorization/provider.js'
export type { SignInLimits } from './authorization/rate-limits.js'
export { signIn, type SignInLifetimes, type SignInOptions } from './authorization/sign-in.js'
export { insufficientScope, type ImpliedScopes } from './auth/scopes.js'
export type { TokenUse, TokenVerifier } from './auth/tokens.js'
export type { Authenticate, AuthenticateOptions, AuthenticateUse } from './auth/authenticate.js'
export {
  type Accepted,
  bindConnections,
  type Connection,
  type ConnectionEnd,
  type Connections,
  type ConnectionSource,
} from './connections/connections.js'
export type {
  Binding,
  ClientTransport,
  ConnectionPort,
  ConnectionState,
  ExpectedAnswer,
  Inbound,
  Link,
  LinkEnd,
  LinkEvents,
  LinkScope,
  ListenScope,
  MessageSink,
  Outcome,
  Peer,
  Response,
  ServedConnection,
  ServerPort,
  ServerTransport,
  Sink,
} from './contract/contract.js'
export { TransportError, type TransportErrorCode } from './base/errors.js'
export {
  type ConnectionEvent,
  type ListenerNoticeEvent,
  type ListenerEvent,
  type ListenerOrigin,
  type StreamEvent,
  subscribeTransport,
  type TransportEvents,
} from './contract/events.js'
export { http } from './http/client/client.js'
export type {
  AuthAnswer,
  AuthOption,
  AuthRefusal,
  AuthRequest,
  ClientAuth,
  TokenRequest,
} from './http/client/auth.js'
export type { HttpClientLimitOptions, HttpOptions } from './http/client/options.js'
export type {
  HttpLimitOptions,
  HttpServeOptions,
  HttpStreamOptions,
  HttpTimeoutOptions,
  ResumeOptions,
} from './http/server/options.js'
export { serveHttp } from './http/server/serve.js'
export type { ConnectionTimeoutOptions, ListenLimitOptions } from './http/listen/options.js'
export type { LinkLimitOptions } from './contract/link-limits.js'
export type { LinkStats } from './link/gauge.js'
export { memory, type MemoryOptions, type MemoryTransport } from './connections/memory.js'
export { type Mount, mount, type MountedRequest } from './http/server/mount.js'
export type { MountOptions } from './http/server/mount-options.js'
export type { Credentials, Principal } from './contract/principal.js'
export { shared, type SharedOptions } from './shared/client.js'
export { sharedClients, type SharedListOptions } from './shared/list.js'
export type { SharedClient } from './shared/hello.js'
export { sse, type SseOptions, type SsePlace } from './http/client/sse.js'
export { serveSse, type SseServeOptions } from './sse/serve.js'
export { stdio } from './stdio/client.js'
export type { StdioOptions } from './stdio/options.js'
export { serveStdio, type StdioLimitOptions, type StdioServeOptions } from './stdio/server.js'
export type { TlsOptions } from './http/outgoing/tls-options.js'
export { websocket, type WebSocketOptions } from './websocket/client.js'
export { serveWebSocket, type WebSocketServeOptions } from './websocket/serve.js'
export { observe, type ObserveOptions, type Observation } from './view/observe.js'
export { type ObservedProgram, observedPrograms } from './view/programs.js'
export { lookAt, type Sight } from './view/look.js'
export type { Changes, Health, Picture } from './view/picture.js'

export {
  type Accepted,
  bindConnections,
  type Connection,
  type ConnectionEnd,
  type Connections,
  type ConnectionSource,
} from './connections.js'
export type {
  Binding,
  ClientTransport,
  Link,
  LinkEnd,
  LinkEvents,
  LinkScope,
  ListenScope,
  Outlet,
  Peer,
  Response,
  ServerPort,
  ServerTransport,
} from './contract.js'
export { TransportError, type TransportErrorCode } from './errors.js'
export { http } from './http-client.js'
export type { HttpOptions } from './http-client-options.js'
export { type HttpServeOptions, serveHttp } from './http-listener.js'
export { memory, type MemoryTransport } from './memory.js'
export { type Mount, mount, type MountedRequest, type MountOptions } from './mount.js'
export { sse, type SseOptions } from './sse-client.js'
export { serveSse, type SseServeOptions } from './sse-listener.js'
export { stdio } from './stdio-client.js'
export type { StdioOptions } from './stdio-client-options.js'
export { serveStdio, type StdioServeOptions } from './stdio-server.js'
export { websocket, type WebSocketOptions } from './websocket-client.js'
export { serveWebSocket, type WebSocketServeOptions } from './websocket-listener.js'

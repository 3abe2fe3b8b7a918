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
export { stdio } from './stdio-client.js'
export type { StdioOptions } from './stdio-client-options.js'
export { serveStdio, type StdioServeOptions } from './stdio-server.js'

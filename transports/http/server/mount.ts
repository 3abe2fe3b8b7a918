import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemWorld } from '../../../runtime/time/world.js'
import { outside } from '../../../runtime/faults/containment.js'
import { lazy } from '../../../runtime/faults/load.js'
import { readListenerAuth } from '../../auth/listener-auth.js'
import { answerMetadata, metadataOf, writeMetadata } from '../../auth/metadata.js'
import { answerPage } from '../listen/answer-page.js'
import { addressBehind } from '../listen/peer.js'
import { pathOf } from '../../base/target.js'
import type { Binding, LinkScope, ServerTransport } from '../../contract/contract.js'
import { type MountOptions, readMountOptions } from './mount-options.js'
import type { HttpSocket } from './port.js'
import type { Principal } from '../../contract/principal.js'

const loadParts = /* @__PURE__ */ lazy(
  '../../transports/http/server/mount-parts.js',
  () => import('./mount-parts.js'),
)

/** What a web framework has found out about a request already. */
export interface MountedRequest {
  /** The body, where a parser has read it: a value, a text or bytes. */
  readonly body?: unknown
  /** What middleware knows, such as who is signed in: tools find it as `ctx.assigns`. */
  readonly assigns?: Readonly<Record<string, unknown>>
  /**
   * Who sends it, as middleware has found out: `authenticate` is not asked then. `'anonymous'` lets in
   * somebody of whom nothing is known. Undefined or null is nobody: `authenticate` or `auth` is asked, and
   * without either it is refused with 401. Left out: the same, but let in without either. One that has expired is
   * 401, one without `auth.scopes` 403; what is no principal is answered 500, and reported.
   */
  readonly principal?: Principal | 'anonymous' | undefined | null
}

/** A server transport that lives in a web server of yours, under any path. */
export interface Mount extends ServerTransport {
  /** A handler for `node:http`, Express and the like; a body that was parsed is taken from `request.body`. */
  handler(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse): void
  /** The same, told what the framework knows. */
  handle(request: IncomingMessage, response: ServerResponse, known?: MountedRequest): void
  /**
   * A handler for `Request` and `Response`, as in Hono; it needs no `node:http` and no threads. Never rejects.
   */
  fetch(request: Request, known?: Omit<MountedRequest, 'body'>): Promise<Response>
  /** What `auth` publishes at `/.well-known/oauth-protected-resource` (RFC 9728); undefined without. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  /** A handler that publishes it, for `node:http`, Express and the like; 404 without `auth`. */
  metadataHandler(request: IncomingMessage, response: ServerResponse): void
  /**
   * A handler for all paths that `auth` has besides that of MCP, such as the pages of `signIn()`: at the root, and
   * before what parses bodies. It calls `next` for all others, or answers them 404.
   */
  authHandler(request: IncomingMessage, response: ServerResponse, next?: () => void): void
}

interface Place {
  readonly socket: HttpSocket
  prepare(request: IncomingMessage, known: MountedRequest): IncomingMessage
}

/**
 * Serves Streamable HTTP within a web server of yours: hand the result to `startServer` as the transport, and
 * its handlers to the framework. `Host` and `Origin` are judged as always, so anything beyond loopback needs
 * `allowedHosts`. Requests that come before the server has started, or after it has ended, are answered 503.
 * Throws TransportError BAD_OPTION.
 */
export function mount(options: MountOptions = {}): Mount {
  const settings = readMountOptions(options, readListenerAuth)
  let place: Place | undefined

  async function bind(scope: LinkScope): Promise<Binding> {
    const { HttpSocket: Socket, shareLog, withKnown } = await loadParts()
    await settings.auth?.prepare()
    const socket = new Socket(settings, scope, shareLog)
    const own: Place = { socket, prepare: (request, known) => withKnown(request, settings.path, known) }
    place = own
    scope.own(() => {
      if (place === own) place = undefined
      return socket.close()
    })
    return socket
  }

  function handle(request: IncomingMessage, response: ServerResponse, known: MountedRequest = {}): void {
    const here = place
    if (here === undefined) refuse(response)
    else outside(() => here.socket.take(here.prepare(request, known), response))
  }

  async function fetch(request: Request, known: Omit<MountedRequest, 'body'> = {}): Promise<Response> {
    const { exchangeOf } = await loadParts()
    const { incoming, outgoing, result } = exchangeOf(request, place?.socket.world ?? systemWorld)
    handle(incoming, outgoing, known)
    return result
  }

  return Object.freeze({
    name: 'mount',
    bind,
    handle,
    handler: (request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) =>
      handle(request, response, request.body === undefined ? {} : { body: request.body }),
    fetch,
    metadata: settings.auth === undefined ? undefined : metadataOf(settings.auth),
    metadataHandler(request: IncomingMessage, response: ServerResponse) {
      if (settings.auth === undefined) response.writeHead(404, { 'content-length': '0' }).end()
      else writeMetadata(request, response, settings.auth)
    },
    authHandler(request: IncomingMessage, response: ServerResponse, next?: () => void) {
      const { auth, path, trustProxy } = settings
      if (answerMetadata(request, response, { auth, path, isShared: true })) return
      if (auth?.own?.has(pathOf(request.url)))
        return auth.own.take(request, response, addressBehind(request, trustProxy))
      if (answerPage(place?.socket.pages, request, response, settings)) return
      if (next === undefined) response.writeHead(404, { 'content-length': '0' }).end()
      else next()
    },
  })
}

const absent =
  'No server answers here: startServer(definition, { transport: mcp }) has not run, or it has stopped\n'

function refuse(response: ServerResponse): void {
  const headers = { 'retry-after': '1', 'content-type': 'text/plain', 'content-length': absent.length }
  response.writeHead(503, headers).end(absent)
}

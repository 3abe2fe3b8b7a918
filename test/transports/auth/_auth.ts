import { type Clock, systemWorld } from 'caduceus/runtime'
import { defineServer, defineTool, type Server, startServer } from 'caduceus/server'
import { type AuthOptions, type HttpServeOptions, serveHttp } from 'caduceus/transports'
import { RawClient } from '../../server/_client.js'
import type { TestContext } from '../../support/suite.js'
import { type AuthorizationServer, resource, startAuthorizationServer } from './_authorization-server.js'
/** Where the metadata of `resource` is. */
export const metadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

/** Says what a tool finds of who calls it. */
export const whoami = defineTool({
  name: 'whoami',
  run: (_args, { principal, peer }) => JSON.stringify({ principal, headers: Object.keys(peer.headers) }),
})

/** A server with `auth`, its authorization server, and clients of it. */
export type Setup = {
  readonly issuer: AuthorizationServer
  readonly server: Server
  readonly client: (token?: string, sessionId?: string) => RawClient
}

/** Starts an HTTP server that takes tokens of a new authorization server. */
export async function startAuth(
  t: TestContext,
  auth: Partial<AuthOptions> = {},
  http: HttpServeOptions = {},
  clock: Clock = systemWorld,
): Promise<Setup> {
  const issuer = await startAuthorizationServer(t)
  const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })
  const options = { resource, authorizationServers: [issuer.issuer], ...auth }
  const transport = serveHttp({ auth: options, ...http })
  const server = await startServer(definition, { transport, clock, logger: false })
  t.after(() => server.stop())
  const client = (token?: string, sessionId?: string): RawClient => {
    const raw = new RawClient(t, server.url)
    if (token !== undefined) raw.own = { authorization: `Bearer ${token}` }
    raw.sessionId = sessionId
    return raw
  }
  return { issuer, server, client }
}

/** What a client is told that is not let in. */
export async function refusalOf(client: RawClient) {
  const { status, headers } = await client.tell('notifications/initialized')
  return [status, headers['www-authenticate']] as const
}

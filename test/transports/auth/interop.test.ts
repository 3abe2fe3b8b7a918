import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import express from 'express'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { mount, serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { startAuthorizationServer } from './_authorization-server.js'

const test = suite('auth with the official client', { timeout: 15_000 })

test('a client reads the challenge, finds both metadata documents and calls', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const host = createServer()
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    host.closeAllConnections()
    return new Promise((resolve) => host.close(resolve))
  })
  const resource = `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
  const tools = [
    defineTool({ name: 'whoami', run: (_args, { principal }) => String(principal?.subject) }),
    defineTool({ name: 'write', scopes: ['files:write'], run: () => 'written' }),
  ]
  const auth = { resource, authorizationServers: [issuer.issuer], scopes: ['files:read'] }
  const server = await startServer(defineServer({ name: 'test', version: '1', tools }), {
    transport: serveHttp({ server: host, auth }),
    logger: false,
  })
  t.after(() => server.stop())

  const refused = await fetch(resource, { method: 'POST', body: '{}' })
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refused)
  assert.equal([scope, error], ['files:read', undefined])
  const told = await discoverOAuthProtectedResourceMetadata(resource, {
    resourceMetadataUrl: String(resourceMetadataUrl),
  })
  const found = await discoverOAuthProtectedResourceMetadata(resource)
  assert.equal(told, found)
  assert.equal([told.resource, told.authorization_servers], [resource, [issuer.issuer]])

  const token = await issuer.issue({ aud: resource, scope: 'files:read' })
  const headers = { authorization: `Bearer ${token}` }
  const client = new Client({ name: 'official', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(resource), { requestInit: { headers } }) as never,
  )
  t.after(() => client.close())
  const { content } = await client.callTool({ name: 'whoami' })
  assert.equal(content, [{ type: 'text', text: 'ada' }])
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    ['whoami'],
  )
  const problem = await client.callTool({ name: 'write' }).then(
    () => undefined,
    (reason: unknown) => reason as Error,
  )
  assert.match(String(problem), /403|Insufficient scope/i)
})

test('Express publishes the metadata where the official client looks for it', async (t) => {
  const issuer = await startAuthorizationServer(t)
  const app = express()
  const host = createServer(app)
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    host.closeAllConnections()
    return new Promise((resolve) => host.close(resolve))
  })
  const resource = `http://127.0.0.1:${(host.address() as AddressInfo).port}/deep/mcp`
  const mcp = mount({ auth: { resource, authorizationServers: [issuer.issuer] } })
  app.use('/.well-known/oauth-protected-resource', mcp.metadataHandler)
  app.use('/deep/mcp', express.json(), mcp.handler)
  const definition = defineServer({ name: 'test', version: '1', tools: [] })
  const server = await startServer(definition, { transport: mcp, logger: false })
  t.after(() => server.stop())
  const refused = await fetch(resource, { method: 'POST', body: '{}' })
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
  assert.is(
    String(resourceMetadataUrl),
    resource.replace('/deep', '/.well-known/oauth-protected-resource/deep'),
  )
  const found = await discoverOAuthProtectedResourceMetadata(resource)
  assert.equal(found, mcp.metadata)
})

test.run()

import { writeEnvelope } from 'caduceus/protocol'
import {
  defineServer,
  type Server,
  type ServerDefinitionOptions,
  type ServerOptions,
  startServer,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { TreeWideOptions } from './_servers.js'
import type { TestContext } from '../support/suite.js'
import { type Answer, RawClient } from './_client.js'

/** The revision without sessions. */
export const revision = '2026-07-28'

/** A request over HTTP, to be changed by a test before it is sent. */
export type Posted = { readonly body: object; readonly headers: Record<string, string> }

/** A request as a good client sends it; `_meta` of the params is added to the envelope, `headers` to those that are needed. */
export function posted(method: string, params: object = {}, headers: Record<string, string> = {}): Posted {
  const envelope = { revision, clientCapabilities: {}, clientInfo: undefined, logLevel: undefined }
  const { name, uri, _meta } = params as { name?: string; uri?: string; _meta?: object }
  const mirrored = name ?? uri
  const whole = { ...params, _meta: { ...writeEnvelope(envelope), ..._meta } }
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: whole },
    headers: {
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(mirrored !== undefined && { 'mcp-name': mirrored }),
      ...headers,
    },
  }
}

/** Starts an HTTP server with what the test says, and stops it with the test. */
export async function startStateless(
  t: Pick<TestContext, 'after'>,
  parts: Partial<ServerDefinitionOptions>,
  options: Partial<ServerOptions> & TreeWideOptions = {},
): Promise<{ server: Server; send: (request: Posted) => Promise<Answer> }> {
  const definition = defineServer({ name: 'test', version: '1', ...parts })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, ...options })
  t.after(() => server.stop())
  const client = new RawClient(t, server.url)
  return { server, send: ({ body, headers }) => client.post(body, headers) }
}

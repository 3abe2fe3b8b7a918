import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fromOpenApi, type OpenApiComponents, type OpenApiOptions } from 'caduceus/openapi'
import { defineServer } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import type { TestContext } from '../../support/suite.js'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Answer = (asked: Asked, response: ServerResponse, count: number) => void

export interface FakeApi {
  readonly url: string
  readonly asked: Asked[]
}

/** Answers with JSON of what was asked, unless told. */
const echo: Answer = ({ method, url }, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method, url }))
}

/** A server that remembers what it was asked. */
export async function startApi(t: TestContext, answer: Answer = echo): Promise<FakeApi> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
    }
    asked.push(one)
    answer(one, response, asked.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** A document of 3.0 with these paths. */
export function documentOf(paths: object, others: object = {}): object {
  return { openapi: '3.0.3', info: { title: 'Tests', version: '1' }, paths, ...others }
}

/** A client of a server that has what the document says. */
export async function serve(t: TestContext, document: object | string | URL, options: OpenApiOptions) {
  const api = await fromOpenApi(document, options)
  t.after(() => api.close())
  const connected = await connect(serverOf(api))
  t.after(() => connected.close())
  return { api, client: connected.client, connectAs: connected.connectAs }
}

export function serverOf({ tools, resources, resourceTemplates }: OpenApiComponents) {
  return defineServer({ name: 'api', version: '1.0.0', tools, resources, resourceTemplates })
}

/** The text of all blocks of a result. */
export function textsOf({ content }: { readonly content: readonly object[] }): string {
  return content.map((block) => ('text' in block ? String(block.text) : '')).join('\n')
}

export const ok = { 200: { description: 'ok', content: { 'application/json': { schema: {} } } } }

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { McpServer as SecondServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { TestContext } from '../support/suite.js'

/** A server of the official SDK 1. */
export function firstServer(): FirstServer {
  const server = new FirstServer({ name: 'official', version: '1' })
  server.registerTool('measure', { inputSchema: { text: z.string() } }, measure)
  server.registerTool('make', { inputSchema: { length: z.number() } }, make)
  server.registerTool('later', {}, later)
  return server
}

/** A server of the official SDK 2. */
export function secondServer(): SecondServer {
  const server = new SecondServer({ name: 'official', version: '2' })
  server.registerTool('measure', { inputSchema: z.object({ text: z.string() }) }, measure)
  server.registerTool('make', { inputSchema: z.object({ length: z.number() }) }, make)
  server.registerTool('later', { inputSchema: z.object({}) }, later)
  return server
}

/** Serves Streamable HTTP with sessions, for the time of the test; a request may have `maxRequestBodySize` bytes, or as many as by default. */
export function serveOfficialHttp(t: TestContext, sdk: 1 | 2, maxRequestBodySize?: number): Promise<string> {
  type Handling = { handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> }
  const transports = new Map<string, Handling>()
  return listen(t, async (request, response) => {
    const known = transports.get(String(request.headers['mcp-session-id']))
    if (known !== undefined) return known.handleRequest(request, response)
    const options = {
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id: string) => void transports.set(id, transport),
      ...(maxRequestBodySize !== undefined && { maxRequestBodySize }),
    }
    const transport: Handling = await (sdk === 1 ? firstHttp(options) : secondHttp(options))
    await transport.handleRequest(request, response)
  })
}

async function firstHttp(options: object) {
  const transport = new StreamableHTTPServerTransport(options)
  await firstServer().connect(transport as Transport)
  return transport
}

async function secondHttp(options: object) {
  const transport = new NodeStreamableHTTPServerTransport(options)
  await secondServer().connect(transport)
  return transport
}

/** Serves HTTP+SSE, which SDK 1 alone has. It reads 4 MiB of a request at most: the program around it reads the body here, as web frameworks do. */
export function serveOfficialSse(t: TestContext): Promise<string> {
  const transports = new Map<string, SSEServerTransport>()
  return listen(t, async (request, response) => {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      return firstServer().connect(transport)
    }
    const id = new URL(request.url ?? '', 'http://x').searchParams.get('sessionId')
    await transports.get(String(id))?.handlePostMessage(request, response, await bodyOf(request))
  })
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function measure({ text }: { text: string }) {
  return said(String(text.length))
}

function make({ length }: { length: number }) {
  return said('é'.repeat(length / 2))
}

async function later() {
  await new Promise((resolve) => setTimeout(resolve, 300))
  return said('late')
}

function said(text: string) {
  return { content: [{ type: 'text' as const, text }] }
}

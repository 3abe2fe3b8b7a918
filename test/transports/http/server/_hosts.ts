import { createServer, type Server as NodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HttpBindings, serve } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { http, type Mount, mount } from 'caduceus/transports'
import type { TestContext } from '../../../support/suite.js'
import { transportSuite } from '../../_suite.js'
import { startSuiteServer } from '../../_suite-server.js'

/** Puts a mount into a web server of some kind, under `/deep/mcp`, and answers where that is. */
type Host = (t: TestContext, mcp: Mount) => Promise<string>

/** The web servers that a mount is tried in. */
export const hosts: { readonly [name: string]: Host } = {
  'node:http': (t, mcp) =>
    listenNode(
      t,
      createServer((request, response) => {
        if (request.url?.startsWith('/deep/mcp')) mcp.handler(request, response)
        else response.writeHead(404).end()
      }),
    ),
  'Express, body not parsed': (t, mcp) => {
    const app = express()
    app.use('/deep/mcp', mcp.handler)
    return listenNode(t, createServer(app))
  },
  'Express, body parsed': (t, mcp) => {
    const app = express()
    app.use(express.json({ limit: '8mb' }))
    app.use('/deep/mcp', mcp.handler)
    return listenNode(t, createServer(app))
  },
  Fastify: async (t, mcp) => {
    const app = fastify({ bodyLimit: 8 * 1024 * 1024, forceCloseConnections: true })
    app.all('/deep/mcp', (request, reply) => {
      reply.hijack()
      mcp.handle(request.raw, reply.raw, { body: request.body, assigns: { user: request.headers['x-user'] } })
    })
    t.after(() => app.close())
    return `${await app.listen({ host: '127.0.0.1', port: 0 })}/deep/mcp`
  },
  Hono: async (t, mcp) => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.all('/deep/mcp', (c) => mcp.fetch(c.req.raw, { assigns: { user: c.req.header('x-user') } }))
    const server = await new Promise<NodeServer>((resolve) => {
      const made = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () =>
        resolve(made as NodeServer),
      )
    })
    t.after(() => end(server))
    return urlOf(server)
  },
}

/** What every transport promises, of a mount in one of them. */
export function everyTransportMounted(name: string): void {
  const everyTransport = transportSuite(`mounted in ${name}`, async (t) => {
    const mcp = mount()
    const url = String(await hosts[name]?.(t, mcp))
    let server = await startSuiteServer(mcp)
    t.after(() => server.stop())
    return {
      connect: () => http(url),
      sessions: async () => (await server.sessions()).length,
      async restart() {
        await server.stop()
        server = await startSuiteServer(mcp)
      },
    }
  })
  everyTransport.run()
}

/** Has a web server listen on a free port of loopback until the test ends; answers where the mount is. */
export async function listenNode(t: TestContext, server: NodeServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => end(server))
  return urlOf(server)
}

function urlOf(server: NodeServer): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/deep/mcp`
}

function end(server: NodeServer): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

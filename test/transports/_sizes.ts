import { fileURLToPath } from 'node:url'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import {
  type ClientTransport,
  http,
  type ServerTransport,
  serveHttp,
  serveSse,
  serveWebSocket,
  sse,
  stdio,
  websocket,
} from 'caduceus/transports'
import type { TestContext } from '../support/suite.js'

const program = fileURLToPath(new URL('./_sizes-program.js', import.meta.url))
const count = { type: 'object', properties: { length: { type: 'integer' } } } as const
const texts = { type: 'object', properties: { text: { type: 'string' } } } as const

/** What is asked for in every trial of sizes; a program has it, too. */
export const sizes = defineServer({
  name: 'sizes',
  version: '1.0.0',
  tools: [
    defineTool({ name: 'measure', input: texts, run: ({ text }) => String((text as string).length) }),
    defineTool({ name: 'make', input: count, run: ({ length }) => 'é'.repeat(Number(length) / 2) }),
    defineTool({
      name: 'later',
      run: () => new Promise<string>((resolve) => setTimeout(resolve, 300, 'late')),
    }),
  ],
})

/** How long a message may be on either side; undefined: as by default. */
export type Limits = { readonly server?: number; readonly client?: number }

/** One way from a client to a server of ours. */
export type Way = {
  readonly name: string
  /** Starts the server, for the time of the test, and answers how a client gets there. */
  start(t: TestContext, limits: Limits): Promise<ClientTransport>
}

function limit(messageBytes: number | undefined) {
  return messageBytes === undefined ? {} : { limits: { messageBytes } }
}

async function serve(t: TestContext, transport: ServerTransport): Promise<string> {
  const server = await startServer(sizes, { transport, logger: false, signals: false })
  t.after(() => server.stop())
  return String(server.url)
}

/** Every transport that has two sides. Add a promise about sizes, or about many calls, in the tests that go over them. */
export const ways: readonly Way[] = [
  {
    name: 'stdio',
    start: async (_t, { server, client }) => {
      const args = [program, String(server ?? 0)]
      return stdio({ command: process.execPath, args, ...limit(client) })
    },
  },
  {
    name: 'http',
    start: async (t, { server, client }) => http(await serve(t, serveHttp(limit(server))), limit(client)),
  },
  {
    name: 'sse',
    start: async (t, { server, client }) => sse(await serve(t, serveSse(limit(server))), limit(client)),
  },
  {
    name: 'websocket',
    start: async (t, { server, client }) =>
      websocket(await serve(t, serveWebSocket(limit(server))), limit(client)),
  },
]

/** A client of ours on its way, for the time of the test. */
export async function reach(t: TestContext, way: Way, limits: Limits = {}) {
  const client = startClient({ transport: await way.start(t, limits), logger: false })
  t.after(() => client.close())
  await client.ready()
  return client
}

import { type CreateMessageParams, McpError } from 'caduceus/protocol'
import { definePrompt, defineResource, defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'

const several: CreateMessageParams = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
  ],
  maxTokens: 1,
}
const tools = [
  defineTool({
    name: 'strict',
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    run: ({ n }) => String(n),
  }),
  defineTool({ name: 'structured', run: () => ({ content: [], structuredContent: { a: 1 } }) }),
  defineTool({
    name: 'progress',
    run: (_args, ctx) => [1, 1, 0.5, 2].map((step) => ctx.progress(step)).join(),
  }),
  defineTool({
    name: 'url_first',
    run() {
      throw new McpError(-32042, 'visit first', { data: { elicitations: [] } })
    },
  }),
  defineTool({ name: 'several', run: async (_args, ctx) => (await ctx.sample('s', several)).model }),
  defineTool({ name: 'form', run: async (_args, ctx) => (await ctx.elicit('f', form)).action }),
]
const form = {
  message: 'm',
  requestedSchema: {
    type: 'object' as const,
    properties: { c: { type: 'string' as const, oneOf: [{ const: 'a', title: 'A' }] } },
  },
}
const definition = defineServer({
  name: 'test',
  version: '1',
  tools,
  resources: [defineResource({ uri: 'x:a', name: 'a', read: () => 'a' })],
  prompts: [
    definePrompt({
      name: 'p',
      arguments: [{ name: 'a' }],
      get: () => 'p',
      complete: { a: () => Array.from({ length: 150 }, String) },
    }),
  ],
  logging: true,
})

/** Starts a server to fall into traps, and a client of it without a session. */
export async function startTrapped(t: TestContext): Promise<RawClient> {
  const server = await startServer(definition, {
    transport: serveHttp(),
    logger: false,
    limits: { pageSize: 2 },
  })
  t.after(() => server.stop())
  return new RawClient(t, server.url)
}

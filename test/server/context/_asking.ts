import {
  definePrompt,
  defineServer,
  defineTool,
  type ServerOptions,
  startServer,
  type ToolContext,
} from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import type { TestContext } from '../../support/suite.js'
import { RawClient, type Stream, type Wire } from '../_client.js'

/** What a client with all abilities declares. */
export const everything = {
  roots: {},
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
}

/** A tool that does what the test says, and a client of it. */
export async function startAsking(
  t: TestContext,
  run: (ctx: ToolContext) => unknown,
  {
    revision = '2025-11-25',
    capabilities = everything,
    ...options
  }: Partial<ServerOptions> & { revision?: string; capabilities?: object } = {},
) {
  const tool = defineTool({ name: 'ask', run: async (_args, ctx) => JSON.stringify(await run(ctx)) })
  const prompt = definePrompt({ name: 'ask', get: async (_args, ctx) => JSON.stringify(await run(ctx)) })
  const definition = defineServer({ name: 'test', version: '1', tools: [tool], prompts: [prompt] })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, ...options })
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open('raw', revision, capabilities)
  const call = () => client.stream({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } })
  const answer = (question: Wire, result: object) => client.post({ jsonrpc: '2.0', id: question.id, result })
  return { server, client, call, answer }
}

/** The text of the result that comes next. */
export async function textOf(stream: Stream): Promise<string | undefined> {
  return (await stream.next()).result?.content?.[0]?.text
}

/** A question with a form. */
export const form = {
  message: 'Who are you?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const, minLength: 1 }, age: { type: 'integer' as const } },
    required: ['name'],
  },
}

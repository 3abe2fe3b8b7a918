import type { Logger } from 'caduceus/runtime'
import {
  defineServer,
  defineTool,
  type Server,
  type ServerDefinitionOptions,
  type ServerOptions,
  startServer,
  type ToolDefinition,
} from 'caduceus/server'
import { type HttpServeOptions, serveHttp } from 'caduceus/transports'
import { type ConnectOptions, until } from 'caduceus/testing'
import type { TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'

/** What `startServer` takes for the whole tree. */
export type TreeWideOptions = Omit<ConnectOptions, 'server' | 'client' | 'principal'>

/** Counts per session. */
export const count = defineTool({
  name: 'count',
  description: 'Counts the calls of this session.',
  input: { type: 'object', properties: { by: { type: 'integer' } } },
  async run({ by = 1 }, ctx) {
    return String(await ctx.update('count', (n = 0) => n + by))
  },
})

/** Says what it is told. */
export const echo = defineTool({
  name: 'echo',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => text,
})

/** Starts an HTTP server on a free port, without logs, and stops it with the test. */
export async function startTestServer(
  t: Pick<TestContext, 'after'>,
  tools: readonly ToolDefinition[],
  {
    http = {},
    ...options
  }: Partial<ServerOptions> & TreeWideOptions & { readonly http?: HttpServeOptions } = {},
): Promise<Server> {
  const definition = defineServer({ name: 'test', version: '1.0.0', instructions: 'Be kind.', tools })
  const server = await startServer(definition, { transport: serveHttp(http), logger: false, ...options })
  t.after(() => server.stop())
  return server
}

/** Kills a process of the group, and waits until the whole group is back. */
export function killAndWait(server: Pick<Server, 'registry'>, name: string): Promise<void> {
  const ref = server.registry.whereis(name)
  if (ref === undefined) throw new Error(`nobody is called ${name}`)
  return untilBack(() => ref.kill())
}

/** Waits until the whole group is back after what ends a part of it: requests in between may be interrupted. */
export async function untilBack(end: () => unknown): Promise<void> {
  const back = until('progress', ({ child }) => child.id === 'transport')
  await end()
  await back
}

/** Starts an HTTP server that offers what the test says, and opens a session of it. */
export async function startParts(
  t: Pick<TestContext, 'after'>,
  parts: Partial<ServerDefinitionOptions>,
  options: Partial<ServerOptions> = {},
): Promise<{ server: Server; client: RawClient }> {
  const definition = defineServer({ name: 'test', version: '1', ...parts })
  const server = await startServer(definition, { transport: serveHttp(), logger: false, ...options })
  t.after(() => server.stop())
  return { server, client: await new RawClient(t, server.url).open() }
}

/** A logger that keeps the numbers of the crashes it was to write. */
export function reportLog(): { logger: Logger; reports: string[] } {
  const reports: string[] = []
  const drop = (): void => {}
  const error = (facts: object): void => {
    const { category, report } = facts as { category: string; report: string }
    if (category === 'crash') reports.push(report)
  }
  return { logger: { debug: drop, info: drop, warn: drop, error }, reports }
}

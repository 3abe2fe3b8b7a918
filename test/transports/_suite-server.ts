import type { TreeWideOptions } from '../server/_servers.js'
import {
  defineServer,
  defineTool,
  type Server,
  type ServerOptions,
  startServer,
  ToolError,
} from 'caduceus/server'

/** Starts the server that the suite of transports talks to; its tools show, and break, what the suite is about. */
export async function startSuiteServer(
  transport: ServerOptions['transport'],
  options: Partial<ServerOptions> & TreeWideOptions = {},
): Promise<Server> {
  const tools = [...plainTools(), ...serverTools(() => server)]
  const definition = defineServer({ name: 'suite', version: '1.0.0', instructions: 'Be kind.', tools })
  const server: Server = await startServer(definition, {
    transport,
    logger: false,
    timeouts: { drain: 2_000 },
    ...options,
  })
  return server
}

function plainTools() {
  let aborts = 0
  const echo = defineTool({
    name: 'echo',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: ({ text }) => text,
  })
  const count = defineTool({
    name: 'count',
    run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
  })
  const steps = defineTool({
    name: 'steps',
    run(_args, ctx) {
      for (const step of [1, 2, 3]) ctx.progress(step, 3)
      return 'stepped'
    },
  })
  const wait = defineTool({
    name: 'wait',
    async run(_args, ctx) {
      ctx.progress(1)
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborts += 1
      return 'too late'
    },
  })
  const aborted = defineTool({ name: 'aborted', run: () => String(aborts) })
  const refuse = defineTool({
    name: 'refuse',
    run() {
      throw new ToolError('not today')
    },
  })
  const crash = defineTool({
    name: 'crash',
    run() {
      throw new Error('secret')
    },
  })
  const ask = defineTool({
    name: 'ask',
    async run(_args, ctx) {
      await ctx.ping()
      return 'the client is there'
    },
  })
  return [echo, count, steps, wait, aborted, refuse, crash, ask]
}

function serverTools(server: () => Server) {
  /** Kills a process of the server: `group`, or without a name the session of the call. */
  const kill = defineTool({
    name: 'kill',
    input: { type: 'object', properties: { name: { type: 'string' } } },
    run({ name }, ctx) {
      server()
        .registry.whereis(`suite/${name ?? `session ${ctx.session.id}`}`)
        ?.kill()
      return 'killed'
    },
  })
  const grow = defineTool({
    name: 'grow',
    async run() {
      await server().addTool(defineTool({ name: 'grown', run: () => 'grown' }))
      return 'grown'
    },
  })
  const sessions = defineTool({
    name: 'sessions',
    run: async () => String((await server().sessions()).length),
  })
  const exit = defineTool({ name: 'exit', run: () => process.exit(7) })
  return [kill, grow, sessions, exit]
}

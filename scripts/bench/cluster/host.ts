import { defineServer, defineTool, field, redis, serveHttp, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'

/** A server in this program: alone, or a node of a cluster whose engine is at this address. */
const url = process.argv[2]

const definition = defineServer({
  name: 'bench',
  version: '1.0.0',
  tools: {
    echo: defineTool({ input: { text: field.string() }, run: ({ text }) => text }),
    /** Changes what is kept with the session. */
    count: defineTool({ run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)) }),
    /** Says something before its answer. */
    steps: defineTool({
      run(_args, ctx) {
        for (const step of [1, 2, 3]) ctx.progress(step, 3)
        return 'stepped'
      },
    }),
  },
})

const server = await startServer(definition, {
  // lanes rest while others are measured
  transport: serveHttp({ timeouts: { keepAlive: 600_000 } }),
  limits: { sessions: 100_000 },
  logger: false,
  ...(url && { engine: redis({ url, keys: ['what both nodes of this bench seal with'] }) }),
})

answer({
  port: () => server.port,
  memory: () => {
    ;(globalThis as { gc?: () => void }).gc?.()
    return process.memoryUsage().heapUsed
  },
})

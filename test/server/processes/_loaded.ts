import { defineServer, defineTool } from 'caduceus/server'

/** A server under load: its sessions count, and some answers come as streams. */
const loaded = defineServer({
  name: 'loaded',
  version: '1.0.0',
  tools: {
    count: defineTool({ run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)) }),
    works: defineTool({
      async run(_args, ctx) {
        ctx.progress(1, 2)
        await new Promise((resolve) => setTimeout(resolve, 20))
        return String(await ctx.update('count', (n = 0) => n + 1))
      },
    }),
    pid: defineTool({ run: () => String(process.pid) }),
  },
})

export { loaded as default }

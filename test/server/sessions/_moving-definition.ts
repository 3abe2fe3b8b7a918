import { defineResource, defineServer, defineTool } from 'caduceus/server'

/** What clients of moving sessions are owed something by. */
const moving = defineServer({
  name: 'moving',
  version: '1.0.0',
  tools: {
    pid: defineTool({ run: () => String(process.pid) }),
    speak: defineTool({
      run(_args, ctx) {
        for (const level of ['info', 'warning', 'error'] as const) ctx.log(level, level)
        return 'spoken'
      },
    }),
    /** Keeps something, so that the record is saved with what the client was told until now. */
    keep: defineTool({ run: async (_args, ctx) => String(await ctx.update('kept', (n = 0) => n + 1)) }),
    publish: defineTool({
      async run(_args, ctx) {
        await ctx.resourceUpdated('news://wanted')
        await ctx.resourceUpdated('news://unwanted')
        await ctx.listChanged('tools')
        return 'published'
      },
    }),
  },
  resources: ['wanted', 'unwanted'].map((name) =>
    defineResource({ name, uri: `news://${name}`, read: () => name }),
  ),
  logging: true,
})

export { moving as default }

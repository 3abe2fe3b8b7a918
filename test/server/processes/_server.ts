import { pbkdf2Sync } from 'node:crypto'
import { field } from 'caduceus'
import { defineServer, defineTool } from 'caduceus/server'

/** What a test asks of a process. */
const server = defineServer({
  name: 'test',
  version: '1.0.0',
  logging: true,
  tools: {
    /** Counts per session. */
    count: defineTool({ run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)) }),
    append: defineTool({
      session: true,
      input: { entry: field.string() },
      async run({ entry }, ctx) {
        await ctx.update('list', (list: string[] = []) => [...list, entry])
      },
    }),
    list: defineTool({ run: async (_args, ctx) => JSON.stringify((await ctx.get('list')) ?? []) }),
    pid: defineTool({ run: () => String(process.pid) }),
    spin: defineTool({
      run(): string {
        for (;;);
      },
    }),
    blocks: defineTool({
      input: { ms: field.integer() },
      run({ ms }): string {
        const end = performance.now() + ms
        while (performance.now() < end);
        return 'blocked'
      },
    }),
    native: defineTool({ run: () => String(pbkdf2Sync('a', 'b', 1e9, 64, 'sha512').length) }),
    exit: defineTool({ run: () => process.exit(7) }),
    abort: defineTool({ run: () => process.abort() }),
    asks: defineTool({
      async run(_args, ctx) {
        const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
        return JSON.stringify((await ctx.elicit('who', { message: 'Who?', requestedSchema })).content)
      },
    }),
    works: defineTool({
      input: { ms: field.integer() },
      async run({ ms }, ctx) {
        ctx.progress(1, 2, 'half')
        await new Promise((resolve) => setTimeout(resolve, ms))
        return 'worked'
      },
    }),
  },
})

export { server as default }

import { field } from 'caduceus'
import { defineServer, defineTool } from 'caduceus/server'

/** What an engine may not take. */
export const server = defineServer({
  name: 'refusing',
  version: '1',
  tools: {
    append: defineTool({
      session: true,
      input: { text: field.string() },
      run: ({ text }, ctx) => ctx.update('words', (words = '') => `${words}${text}`),
    }),
    read: defineTool({ session: true, run: async (_args, ctx) => String(await ctx.get('words')) }),
    odd: defineTool({
      session: true,
      async run(_args, ctx) {
        await ctx.update('odd', () => 10n)
        return 'taken'
      },
    }),
    /** Its outcome has so many characters. */
    makes: defineTool({
      task: 'required',
      input: { size: field.integer() },
      run: ({ size }) => 'x'.repeat(size),
    }),
  },
})

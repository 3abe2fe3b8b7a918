// A server whose tool asks a model, with words that a shell would run.
import { AskError, defineServer, defineTool, serveStdio, startServer } from 'caduceus'

const ask = defineTool({
  name: 'ask',
  async run(_, ctx) {
    try {
      const { model, content } = await ctx.sample('what', {
        messages: [{ role: 'user', content: { type: 'text', text: 'what now; touch hit' } }],
        maxTokens: 10,
      })
      const [block] = [content].flat()
      return `${model}: ${block?.type === 'text' ? block.text : ''}`
    } catch (error) {
      if (error instanceof AskError) return `refused: ${error.message}`
      throw error
    }
  },
})

await startServer(defineServer({ name: 'asking', version: '1.0.0', tools: [ask] }), {
  transport: serveStdio(),
  logger: false,
})

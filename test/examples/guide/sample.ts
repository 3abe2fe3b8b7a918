import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const summarize = defineTool({
  name: 'summarize',
  input: { text: field.string() },
  async run({ text }, ctx) {
    const { content } = await ctx.sample('summary', {
      messages: [{ role: 'user', content: { type: 'text', text: `In three words: ${text}` } }],
      maxTokens: 50,
    })
    const [answer] = [content].flat()
    return answer?.type === 'text' ? answer.text : 'The model did not answer with text.'
  },
})

await using pair = await connect(defineServer({ name: 'texts', version: '1.0.0', tools: [summarize] }), {
  client: {
    // the client has the model, and its user's consent; here a model would be called
    onSample: ({ messages }) => {
      console.log('the model is asked', messages.length, 'thing')
      return { role: 'assistant', model: 'small', content: { type: 'text', text: 'Whatever dies, returns.' } }
    },
  },
})
console.log((await pair.client.callTool('summarize', { text: 'A long text about supervision.' })).text)

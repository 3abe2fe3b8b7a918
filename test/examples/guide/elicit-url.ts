import { defineServer, defineTool } from 'caduceus'
import { connect } from 'caduceus/testing'

const pay = defineTool({
  name: 'pay',
  async run(_args, ctx) {
    // what is secret is entered on a page of yours; neither the model nor the client sees it
    const { action } = await ctx.elicit('card', {
      mode: 'url',
      message: 'Please enter your card.',
      url: 'https://shop.example.com/pay/17',
      elicitationId: 'pay-17',
    })
    return action === 'accept' ? 'The page was opened.' : 'Not paid.'
  },
})

await using pair = await connect(defineServer({ name: 'shop', version: '1.0.0', tools: [pay] }), {
  client: {
    onElicit: {
      url: ({ url }) => {
        console.log('opened in the browser:', url)
        return { action: 'accept' }
      },
    },
  },
})
console.log((await pair.client.callTool('pay')).text)

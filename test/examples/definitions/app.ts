import { createApp, field } from 'caduceus'
import { connect } from 'caduceus/testing'

interface User {
  readonly name: string
}
const { defineServer, defineTool } = createApp<{ user: User; session: { cart: string[] } }>()

const addToCart = defineTool({
  session: true,
  input: { item: field.string() },
  async run({ item }, ctx) {
    const cart = await ctx.update('cart', (items = []) => [...items, item]) // string[]
    return `${ctx.user?.name ?? 'nobody'}: ${cart.join(', ')}`
  },
})

const shop = defineServer({ name: 'shop', version: '1.0.0', tools: { addToCart } })
await using pair = await connect(shop)
for (const item of ['tea', 'milk']) console.log((await pair.client.callTool('add_to_cart', { item })).text)

import { defineServer, defineTool, field, inMemory } from 'caduceus'
import { connect, crash } from 'caduceus/testing'

const add = defineTool({
  name: 'add',
  session: true, // what it keeps belongs to the session
  input: { item: field.string() },
  run: async ({ item }, ctx) =>
    (await ctx.update('cart', (cart: string[] = []) => [...cart, item])).join(', '),
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [add] })

await using pair = await connect(shop, { server: { engine: inMemory(), logger: false } }) // the default engine
console.log((await pair.client.callTool('add', { item: 'tea' })).text)

const [session] = await pair.server.sessions()
if (session !== undefined) await crash(session)
console.log((await pair.client.callTool('add', { item: 'milk' })).text)

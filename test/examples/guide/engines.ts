import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineServer, defineTool, field, files, http, serveHttp, startClient, startServer } from 'caduceus'

const add = defineTool({
  name: 'add',
  session: true, // what it keeps belongs to the session
  input: { item: field.string() },
  run: async ({ item }, ctx) =>
    (await ctx.update('cart', (cart: string[] = []) => [...cart, item])).join(', '),
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [add] })

const engine = files({ folder: mkdtempSync(join(tmpdir(), 'shop-')) })
const first = await startServer(shop, { transport: serveHttp(), engine, logger: false })
const { port } = new URL(first.url ?? '')
await using client = startClient({ transport: http(first.url ?? '') })
console.log((await client.callTool('add', { item: 'tea' })).text)

await first.stop() // a deploy
await using second = await startServer(shop, {
  transport: serveHttp({ port: Number(port) }),
  engine,
  logger: false,
})
console.log((await client.callTool('add', { item: 'milk' })).text, second.url === first.url)

import { defineServer, defineTool, records } from 'caduceus'
import { connect, crash } from 'caduceus/testing'

const count = defineTool({
  name: 'count',
  session: true,
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
})
const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count] })

// a table of your database: each of the three may return a promise
const table = new Map<string, string>()
const engine = records({
  load(id) {
    const text = table.get(id)
    return text === undefined ? undefined : JSON.parse(text)
  },
  save: (record) => table.set(record.id, JSON.stringify(record)),
  delete: (id) => table.delete(id),
})

await using pair = await connect(counters, { server: { engine, logger: false } })
await pair.client.callTool('count')
const [session] = await pair.server.sessions()
if (session !== undefined) await crash(session) // its successor begins with what load answers
console.log((await pair.client.callTool('count')).text, table.size)

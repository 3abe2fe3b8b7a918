import { createApp } from 'caduceus'
import { connect } from 'caduceus/testing'

interface Connection {
  query(sql: string): string
  close(): void
}
const { defineServer, defineTool } = createApp<{ assigns: { db: Connection } }>()

const count = defineTool({
  name: 'count',
  run: (_args, ctx) => ctx.assigns.db?.query('select count(*)') ?? 'none',
})

const server = defineServer({
  name: 'db',
  version: '1.0.0',
  tools: [count],
  session: {
    init(ctx, { restored }) {
      console.log(restored ? 'a session is back' : 'a session begins')
      ctx.assign({ db: { query: () => '42', close: () => console.log('closed') } })
    },
    terminate({ assigns }, reason) {
      console.log('it ends:', reason.type)
      assigns.db?.close()
    },
  },
})

const pair = await connect(server)
console.log((await pair.client.callTool('count')).text)
await pair.close()

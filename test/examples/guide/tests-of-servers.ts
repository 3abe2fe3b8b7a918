import { defineServer, defineTool, field } from 'caduceus'
import { connect, crash, fakeClock, record, Recording, until } from 'caduceus/testing'

const count = defineTool({
  name: 'count',
  session: true,
  input: { by: field.integer({ default: 1 }) },
  run: async ({ by }, ctx) => String(await ctx.update('count', (n = 0) => n + by)),
})
const hang = defineTool({ name: 'hang', run: () => new Promise<string>(() => {}) })
const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count, hang] })

// server and client in this process, without a port
const clock = fakeClock()
await using pair = await connect(counters, { clock })
console.log((await pair.client.tools.count({ by: 2 })).text) // typed by the definition

// the session dies, and is back with its state
const events = record('server.session')
const [session] = await pair.server.sessions()
if (session !== undefined) await crash(session)
console.log((await pair.client.callTool('count')).text)
console.log(events instanceof Recording, events.all.map(({ type }) => type).join(' '))
events.stop()

// a minute passes at once
const begun = until('server.request', ({ type }) => type === 'start')
const call = pair.client.callTool('hang', {}, { timeout: 60_000 }).catch(({ code }) => code)
await begun
await clock.advance(60_000)
console.log(await call)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineServer, defineTool, startClient } from 'caduceus'
import { connect, crash, fakeClock, scriptedServer, until } from 'caduceus/testing'

const count = defineTool({
  name: 'count',
  session: true,
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
})
const counters = defineServer({ name: 'counters', version: '1.0.0', tools: [count] })

test('the count survives a crash of its session', async () => {
  await using pair = await connect(counters)
  assert.equal((await pair.client.callTool('count')).text, '1')
  const [session] = await pair.server.sessions()
  assert(session)
  const restored = until('server.session', ({ type }) => type === 'restored')
  await crash(session)
  assert.equal((await pair.client.callTool('count')).text, '2')
  await restored
})

test('a call gives up after its time, without waiting for it', async () => {
  const clock = fakeClock()
  const server = scriptedServer({ 'tools/call': () => undefined }) // never answers
  await using client = startClient({ transport: server.transport, clock, logger: false })
  const call = assert.rejects(client.callTool('slow', {}, { timeout: 60_000 }), { code: 'TIMEOUT' })
  await server.next('tools/call')
  await clock.advance(60_000)
  await call
})

test('a client comes back after its connection has failed', async () => {
  const server = scriptedServer({ 'tools/call': { content: [{ type: 'text', text: 'here' }] } })
  await using client = startClient({ transport: server.transport, backoff: { base: 1 }, logger: false })
  await client.ready()
  const lost = until(client, ({ phase }) => phase === 'disconnected')
  server.drop()
  await lost
  assert.equal((await client.callTool('any')).text, 'here')
  assert.equal(server.connections, 2)
})

// second tier: time
// time limit: 60 s
import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { defineServer, defineTool, gateway, startServer } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { http, serveHttp, stdio } from 'caduceus/transports'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: many', { timeout: 55_000 })
const program = inRoot('.t', 'test', 'flows', 'gateway', '_upstream-program.js')
const ofPrograms = 3

test('100 servers serve 200 sessions, while programs among them are killed', async (t) => {
  const clients: Record<string, Client> = {}
  for (let n = 0; n < 100 - ofPrograms; n += 1) {
    const upstream = await connect(
      defineServer({
        name: `s${n}`,
        version: '1.0.0',
        tools: {
          echo: defineTool({
            input: { type: 'object', properties: { text: { type: 'string' } } },
            run: ({ text = '' }) => `s${n} ${text}`,
          }),
        },
      }),
    )
    t.after(() => upstream.close())
    clients[`s${n}`] = upstream.client
  }
  for (let n = 0; n < ofPrograms; n += 1) {
    const transport = stdio({ command: process.execPath, args: [program], stopTimeout: 200 })
    const client = startClient({ name: `p${n}`, transport, logger: false, backoff: { base: 10, cap: 50 } })
    t.after(() => client.close())
    clients[`p${n}`] = client
  }
  const server = await startServer(gateway(clients, { startTimeout: 20_000 }), {
    transport: serveHttp(),
    logger: false,
    limits: { pageSize: 1_000 },
  })
  t.after(() => server.stop())
  const sessions = Array.from({ length: 200 }, (_, n) =>
    startClient({
      name: `c${n}`,
      transport: http(String(server.url)),
      era: n % 2 === 0 ? 'handshake' : 'modern',
      logger: false,
    }),
  )
  t.after(() => Promise.all(sessions.map((client) => client.close())))
  const lists = await Promise.all(sessions.map(async (client) => (await client.listTools()).tools.length))
  assert.equal(new Set(lists), new Set([97 + 3 * ofPrograms]))

  const before = await Promise.all([0, 1, 2].map((n) => callTool(sessions[0], `p${n}__pid`)))
  // a server works on 64 requests of a session at once, and the gateway is one session of each
  const hanging = sessions
    .slice(0, 90)
    .map((client, n) => client.callTool(`p${n % ofPrograms}__hang`).catch((error: unknown) => error))
  // the programs have these calls when they answer those that came after them
  await Promise.all(sessions.map((client, n) => client.callTool(`p${n % ofPrograms}__echo`, { text: 'x' })))
  const calls = sessions.flatMap((client, n) =>
    [1, 2, 3].map(async (turn) => {
      const to = `s${(n * 7 + turn) % 97}`
      assert.is(await callTool(client, `${to}__echo`, { text: `${n}` }), `${to} ${n}`)
    }),
  )
  for (const pid of before) process.kill(Number(pid), 'SIGKILL')
  await Promise.all(calls)
  for (const lost of await Promise.all(hanging)) {
    assert.ok(lost instanceof McpError, String(lost))
    const { code, sent } = lost.data as { code: string; sent: boolean }
    assert.equal({ code, sent }, { code: 'CONNECTION_LOST', sent: true })
  }
  const again = await Promise.all(
    sessions.map(async (client, n) => [
      before[n % ofPrograms],
      await callTool(client, `p${n % ofPrograms}__pid`),
    ]),
  )
  assert.ok(again.every(([old, next]) => old !== next))
  assert.is((await server.sessions()).length, 100)
})

test.run()

async function callTool(
  client: Client | undefined,
  name: string,
  args?: Record<string, unknown>,
): Promise<string> {
  return (await client?.callTool(name, args))?.text ?? ''
}

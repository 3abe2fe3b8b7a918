// second tier: time
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { serveWebSocket, websocket } from 'caduceus/transports'
import { suite } from '../../support/suite.js'

const test = suite('websockets of several processes', { timeout: 60_000 })
const module = new URL('./_loaded.js', import.meta.url)

test('sockets are spread, and reopen elsewhere when a process is replaced', async (t) => {
  const server = await startServer(module, { transport: serveWebSocket(), processes: 2, logger: false })
  t.after(() => server.stop())
  const clients = Array.from({ length: 4 }, () => startClient({ transport: websocket(String(server.url)) }))
  t.after(() => Promise.all(clients.map((client) => client.close())))
  const pids = (): Promise<string[]> =>
    Promise.all(clients.map(async (client) => String((await client.callTool('pid', {})).text)))
  const before = new Set(await pids())
  assert.is(before.size, 2)
  await server.reload()
  await until(
    async () => {
      const now = await pids().catch(() => [...before])
      return now.every((pid) => !before.has(pid))
    },
    { timeout: 30_000 },
  )
})

test.run()

import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { fakeClock } from 'caduceus/testing'
import { serveHttp, type ServerTransport } from 'caduceus/transports'
import { Connections } from '../../../server/processes/connections.js'
import { suite } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { echo } from '../_servers.js'

const test = suite('connections of several processes')

test('a connection closes with the first answer after a minute, to be balanced anew', async (t) => {
  const clock = fakeClock()
  const port = createServer({ pauseOnConnect: true })
  await new Promise<void>((resolve) => port.listen(0, '127.0.0.1', resolve))
  t.after(() => port.close())
  const { port: number } = port.address() as AddressInfo
  const url = `http://127.0.0.1:${number}/mcp`
  const connections = new Connections({ url, host: '127.0.0.1', port: number })
  let count = 0
  port.on('connection', (socket) => {
    count += 1
    connections.give(socket)
  })
  const definition = defineServer({ name: 'test', version: '1', tools: [echo] })
  const transport = serveHttp().sharing?.serve(connections) as ServerTransport
  const server = await startServer(definition, { transport, clock, logger: false })
  t.after(() => server.stop())
  const client = new RawClient(t, url)
  const ask = async () => (await client.post(initialize())).headers.connection
  assert.equal([await ask(), await ask(), count], ['keep-alive', 'keep-alive', 1])
  await clock.advance(59_000)
  assert.equal([await ask(), count], ['keep-alive', 1])
  await clock.advance(1_000)
  assert.equal([await ask(), count], ['close', 1])
  assert.equal([await ask(), count], ['keep-alive', 2])
})

test.run()

import * as assert from 'uvu/assert'
import { serveWebSocket } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { startListener } from '../_listener.js'
import { feeding, sharePort } from '../http/_shared.js'
import { greet, open } from './_websocket.js'

const test = suite('shared websocket listener')

test('a socket is served by the process that gets its connection', async (t) => {
  const port = await sharePort(t, serveWebSocket({ path: '/ws' }))
  assert.is(port.url, `ws://127.0.0.1:${port.port}/ws`)
  const served: string[] = []
  const sources = await Promise.all(
    ['first', 'second'].map(async (name) => {
      const source = feeding(port)
      const open = async ({ id }: { id: number | string }) => {
        served.push(name)
        return { sessionId: name, response: { jsonrpc: '2.0' as const, id, result: {} } }
      }
      const transport = port.sharing.serve(source)
      const { url } = await startListener(t, { open }, {}, { transport })
      assert.is(url, port.url)
      return source
    }),
  )
  for (const source of sources) {
    port.giveTo((socket) => source.give(socket))
    await greet(await open(t, port))
  }
  assert.equal(served, ['first', 'second'])
})

test('future sockets are counted where the port is', async (t) => {
  const limits = { limits: { connections: 1, connectionsPerClient: 1 } }
  const port = await sharePort(t, serveWebSocket(limits))
  const source = feeding(port)
  const ends: (() => void)[] = []
  port.giveTo((socket, ended) => {
    ends.push(ended)
    source.give(socket)
  })
  await startListener(t, {}, {}, { transport: port.sharing.serve(source) })
  for (let i = 0; i < 102; i++) await open(t, port).catch(() => {})
  assert.is(ends.length, 102)
  await open(t, port).catch(() => {})
  assert.is(ends.length, 102)
  for (const ended of ends) ended()
  await open(t, port).catch(() => {})
  assert.is(ends.length, 103)
})

test.run()

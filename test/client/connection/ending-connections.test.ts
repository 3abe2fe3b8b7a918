import * as assert from 'uvu/assert'
import { startClient } from 'caduceus'
import { isRequest } from 'caduceus/protocol'
import { type ClientTransport, stdio, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { startLink } from '../../transports/_link.js'
import { startPool } from '../pool/_pool.js'
import { rejection, watch } from '../_raw.js'

const test = suite('calls on a connection that is about to end')

/** Answers with the number of the connection, unless that takes no more messages. */
function closing(takes: (connection: number) => boolean) {
  let connections = 0
  let end = (): void => {}
  const transport: ClientTransport = {
    name: 'closing',
    connect(events) {
      connections += 1
      const number = connections
      end = () => events.closed({ error: new TransportError('CONNECTION_LOST', 'it ended') })
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const { id, method } = message
          const handshake = method === 'initialize'
          if (!handshake && !takes(number))
            return events.lost(id, new TransportError('NOT_OPEN', 'no more messages', { retryable: true }))
          const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
          const content = [{ type: 'text', text: String(number) }]
          const result = handshake ? greeting : { content }
          events.message(JSON.stringify({ jsonrpc: '2.0', id, result }))
        },
        close: () => events.closed({}),
      }
    },
  }
  return { transport, end: () => end() }
}

const serverInfo = { name: 'closing', version: '1' }

test('a call refused by an ending connection is made on the next one', async (t) => {
  const { transport, end } = closing((connection) => connection > 1)
  const { client } = watch(t, { transport })
  await client.ready()
  const call = client.callTool('any')
  const impatient = await rejection(client.callTool('any', {}, { wait: false }))
  assert.equal([impatient.code, impatient.data, impatient.retryable], ['NOT_READY', { sent: false }, true])
  assert.is(client.inspect().waiting, 1)
  end()
  assert.is((await call).text, '2')
})

test('a call of a pool is made on another member', async (t) => {
  const { transport } = closing((connection) => connection > 1)
  const { pool, served } = await startPool(t, { transport })
  await pool.ready({ count: 2 })
  const answers = await Promise.all(Array.from({ length: 4 }, () => pool.callTool('any')))
  assert.equal(
    answers.map(({ text }) => text),
    ['2', '2', '2', '2'],
  )
  assert.ok(Number(served()['pool-1']) > 0)
})

test('a call to a server that has closed its input is unsent', async (t) => {
  const program = "require('node:fs').closeSync(0); setInterval(() => {}, 1000)"
  const link = await startLink(t, stdio({ command: process.execPath, args: ['-e', program], stopTimeout: 1 }))
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  const lost = link.news.next((news) => news.type === 'lost')
  let over = false
  void lost.then(() => {
    over = true
  })
  for (let id = 1; !over; id++) {
    link.send(1, { jsonrpc: '2.0', id, method: 'ping' })
    await new Promise((resolve) => setImmediate(resolve))
  }
  const news = await lost
  assert.is(news.type === 'lost' && news.error.code, 'NOT_OPEN')
})

test('close() during the probe waits for the end of the server, and no longer', async (t) => {
  const transport: ClientTransport = {
    name: 'mute',
    connect(events) {
      const state = { isOpen: true }
      events.opened()
      return {
        send(_, message) {
          if (state.isOpen || !isRequest(message)) return
          events.lost(message.id, new TransportError('NOT_OPEN', 'no more messages', { retryable: true }))
        },
        close() {
          state.isOpen = false
          setTimeout(() => events.closed({}), 300)
        },
      }
    },
  }
  const client = startClient({ transport, era: 'auto', probeTimeout: 100, logger: false })
  t.after(() => client.close())
  for await (const { phase } of client.states()) if (phase === 'initializing') break
  const start = performance.now()
  await client.close()
  const took = performance.now() - start
  assert.ok(took > 250 && took < 5_000, `${took} ms`)
})

test.run()

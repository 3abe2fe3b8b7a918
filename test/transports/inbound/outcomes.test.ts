import { setImmediate as turn } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import {
  buildNotification,
  buildResult,
  dialect20250326,
  type Message,
  ProtocolError,
} from 'caduceus/protocol'
import type { ServedConnection, Sink } from 'caduceus/transports'
import { serverPort, type Services } from '../../support/ports.js'
import { suite, type TestContext } from '../../support/suite.js'
import { exchange, startListener } from '../_listener.js'

const test = suite('outcomes of what comes in')

const peer = { transport: 'test', headers: {}, remoteAddress: undefined }
const text = (id: number, method = 'tools/list') => JSON.stringify({ jsonrpc: '2.0', id, method })

/** A connection with a session, served by `services`, and what was done to it. */
function connect(given: Partial<Services> = {}) {
  const written: unknown[] = []
  const reports: unknown[] = []
  const turns: (() => void)[] = []
  const services: Services = {
    open: async ({ id }) => ({ sessionId: 's', response: buildResult(id, {}) }),
    deliver: async (_session, message) => ('id' in message ? buildResult(message.id ?? 0, {}) : undefined),
    attach: async () => () => {},
    close: async () => {},
    ...given,
  }
  const connection: ServedConnection = {
    state: { pinned: 'handshake', sessionId: 's', dialect: dialect20250326 },
    peer,
    isStalled: false,
    isPipe: false,
    write: (answer) => void written.push(answer),
    send: (message) => written.push(message) > 0,
    begun: () => {},
    onProgress: () => {},
    nextTurn: (fn) => void turns.push(fn),
    sessionEnded: () => void written.push('ended'),
    report: (error) => void reports.push((error as Error).message),
  }
  return { port: serverPort(services).connect(connection), written, reports, turns }
}

async function bodyOf(t: TestContext, error: Error) {
  const { url } = await startListener(t, { deliver: () => Promise.reject(error) })
  const { status, ended } = await exchange(t, url)
  return { status, body: await ended }
}

test('an error of the server is no mistake of its client, whatever its class', async (t) => {
  const { status, body } = await bodyOf(t, new ProtocolError('BAD_PARAMS', 'secret'))
  assert.equal([status, body.includes('secret'), body.includes('Internal error')], [500, false, true])
})

test('a fault is reported also when its client has gone', async () => {
  const { port, reports, written } = connect({ deliver: () => Promise.reject(new Error('disk')) })
  port.receive(text(1), peer)
  port.close()
  await turn()
  assert.equal([reports, written], [['disk'], []])
})

test('a reader of a connection that another listener has is not attached again', async () => {
  const readers: Sink[] = []
  const attach: Services['attach'] = async (_session, sink) => {
    readers.push(sink)
    return () => {}
  }
  const { port, turns } = connect({ attach })
  port.subscribe()
  port.close()
  readers[0]?.end?.({ type: 'over', goesOn: true })
  port.subscribe()
  assert.equal([turns.length, readers.length], [0, 1])
})

test('in a session, a method of another era lasts no longer than any other', async () => {
  const { port, written } = connect()
  port.receive(text(1, 'subscriptions/listen'), peer)
  await turn()
  assert.equal(written, [buildResult(1, {})])
})

test('a batch is answered while one of its notifications is still being taken', async () => {
  const deliver: Services['deliver'] = (_session, message: Message) =>
    'id' in message ? Promise.resolve(buildResult(message.id ?? 0, {})) : new Promise(() => {})
  const { port, written } = connect({ deliver })
  port.receive(`[${JSON.stringify(buildNotification('notifications/initialized'))},${text(1)}]`, peer)
  await turn()
  assert.equal(written, [buildResult(1, {})])
})

test.run()

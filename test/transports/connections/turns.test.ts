import { createFakeClock } from 'caduceus/runtime'
import { bindConnections, type Connection, type Connections } from 'caduceus/transports'
import { serverPort } from '../../support/ports.js'
import * as assert from 'uvu/assert'
import { worldOn } from '../../support/world.js'
import { suite } from '../../support/suite.js'

const test = suite('turns of connections')

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Connections that are served, and who was answered, in order. */
function start() {
  const scope = {
    signal: new AbortController().signal,
    clock: createFakeClock(),
    world: worldOn(createFakeClock()),
    own: <T>(resource: T): T => resource,
    bind: <F>(fn: F): F => fn,
  }
  const connections = bindConnections(scope)
  const nothing = async () => {
    throw new Error('nobody opens a session here')
  }
  const server = serverPort({ open: nothing, deliver: nothing, attach: nothing, close: nothing })
  const serving: Parameters<Connections['serve']>[0] = { server, run: (fn) => fn(), report: () => {} }
  connections.serve(serving)
  const answered: string[] = []
  function connect(name: string) {
    const connection: Connection = {
      peer: { transport: 'test', headers: {}, remoteAddress: undefined },
      isStalled: false,
      send: () => void answered.push(name),
      pause: () => {},
      resume: () => {},
      close: () => {},
    }
    return connections.accept(connection)
  }
  return { connect, answered }
}

test('a flood of one client does not delay the messages of another until its end', async () => {
  const { connect, answered } = start()
  const flooder = connect('flooder')
  const other = connect('other')
  for (let i = 0; i < 5_000; i++) assert.ok(flooder.message(ping))
  other.message(ping)
  assert.is(answered.at(-1), 'other')
  assert.ok(answered.length <= 101)
  while (answered.length < 5_001) await turn()
  assert.is(answered.filter((name) => name === 'flooder').length, 5_000)
})

test('messages of a client that left are dropped', async () => {
  const { connect, answered } = start()
  const flooder = connect('flooder')
  for (let i = 0; i < 500; i++) flooder.message(ping)
  const { length } = answered
  flooder.closed()
  await turn()
  await turn()
  assert.is(answered.length, length)
})

test('messages that arrive singly are handled at once', async () => {
  const { connect, answered } = start()
  const client = connect('client')
  for (let i = 1; i <= 250; i++) {
    client.message(ping)
    if (answered.length < i) await turn()
    assert.is(answered.length, i)
  }
})

test.run()

import * as assert from 'uvu/assert'
import { type Client, clientSpec, findClient } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { Registry, startSupervisor } from 'caduceus/runtime'
import type { ClientTransport } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { flaky } from '../_flaky.js'
import { rawNear, rejection, watch, watchNear } from '../_raw.js'

const test = suite('clients given up or embedded')

test('a client beyond its restart intensity gives up: calls and closed reject at once', async (t) => {
  const { client, kill, said, phase } = watchNear(t, { intensity: 1 })
  await client.ready()
  kill('client')
  await phase('disconnected')
  await phase('ready')
  const call = client.callTool('hang')
  await said.next((line) => line === 'got tools/call hang')
  kill('client')
  assert.is((await rejection(call)).code, 'CONNECTION_LOST')
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  const error = await rejection(client.ping())
  assert.equal([error.code, error.retryable], ['GAVE_UP', false])
  assert.is((error.data as { sent: boolean }).sent, false)
  assert.is((await rejection(client.ready())).code, 'GAVE_UP')
  assert.is(client.state.phase, 'failed')
  const phases: string[] = []
  for await (const state of client.states()) phases.push(state.phase)
  assert.equal(phases, ['failed'])
  await client.close()
})

test('a client whose transport crashes too often has given up and is not closed', async (t) => {
  const { client, kill, phase } = watchNear(t, { intensity: 1 })
  await client.ready()
  kill('transport')
  await phase('disconnected')
  await phase('ready')
  kill('transport')
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  assert.is((await rejection(client.ping())).code, 'GAVE_UP')
  assert.is((await rejection(client.ready())).code, 'GAVE_UP')
  assert.is(client.state.phase, 'failed')
})

test('an embedded client that gave up rejects closed unless its parent restarts it', async (t) => {
  const registry = new Registry()
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false })
  t.after(() => tree[Symbol.asyncDispose]())
  const spec = clientSpec({ name: 'mayfly', transport: rawNear(), intensity: 0 }, { restart: 'transient' })
  const client = (await tree.startChild(spec)).extra as Client
  await client.ready()
  registry.whereis('transport of client mayfly')?.kill()
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  assert.is((await rejection(client.ping())).code, 'GAVE_UP')
})

test('a send that throws a value without text fails its call and does not crash', async (t) => {
  const { transport } = flaky(0)
  const weird: ClientTransport = {
    name: 'weird',
    async connect(events, scope) {
      const link = await transport.connect(events, scope)
      const send: typeof link.send = (text, message) => {
        if (isRequest(message) && message.method === 'ping') throw Object.create(null)
        link.send(text, message)
      }
      return { send, close: () => link.close() }
    },
  }
  const { client } = watch(t, { transport: weird })
  const error = await rejection(client.ping())
  assert.equal([error.code, error.data], ['REQUEST_FAILED', { sent: true }])
  assert.match(error.message, 'the transport could not send: ')
  assert.equal(
    client.inspect().tree?.children.map(({ restarts }) => restarts),
    [0, 0],
  )
})

test('a custom transport that throws in connect is a failed connection', async (t) => {
  const transport: ClientTransport = {
    name: 'broken',
    connect: () => {
      throw new Error('no idea how')
    },
  }
  const { client } = watch(t, { transport })
  const error = await rejection(client.ready())
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, 'no idea how')
  assert.equal(
    client.inspect().tree?.children.map(({ restarts }) => restarts),
    [0, 0],
  )
})

test('an embedded client is found by name and ends with its tree', async (t) => {
  const registry = new Registry()
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false })
  t.after(() => tree[Symbol.asyncDispose]())
  const { extra } = await tree.startChild(clientSpec({ name: 'embedded', transport: rawNear() }))
  const client = extra as Client
  assert.is((await client.callTool('count')).text, '1')
  const found = await findClient(registry, 'embedded')
  assert.is((await found.callTool('count')).text, '2')
  await tree.stop()
  await client.closed
  assert.is((await rejection(client.ping())).code, 'CLOSED')
  assert.is((await rejection(found.ping())).code, 'CLOSED')
})

test('an embedded client that gave up restarts under its parent, with the same handle', async (t) => {
  const registry = new Registry()
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false })
  t.after(() => tree[Symbol.asyncDispose]())
  const { extra } = await tree.startChild(clientSpec({ name: 'phoenix', transport: rawNear(), intensity: 0 }))
  const client = extra as Client
  const first = (await client.callTool('who')).text
  registry.whereis('client phoenix')?.kill()
  assert.is.not((await client.callTool('who')).text, first)
  await client.close()
  assert.is(client.state.phase, 'closed')
  assert.equal(
    (await tree.children()).map(({ status }) => status),
    ['running'],
  )
  assert.is((await rejection(client.ping())).code, 'CLOSED')
})

test.run()

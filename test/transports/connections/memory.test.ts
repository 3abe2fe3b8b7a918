import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { memory, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { connected, inProcess, text, transportSuite } from '../_suite.js'
import { startSuiteServer } from '../_suite-server.js'

const everyTransport = transportSuite('memory', (t) => {
  const pair = memory()
  return inProcess(t, { serve: () => pair.serve, connect: () => pair.connect })
})
everyTransport.run()

const test = suite('memory', { timeout: 15_000 })

test('a memory client that starts first waits for its server', async (t) => {
  const pair = memory()
  const client = startClient({ transport: pair.connect, backoff: { base: 5, cap: 10 }, logger: false })
  t.after(() => client.close())
  const counted = client.callTool('count')
  const server = await startSuiteServer(pair.serve)
  t.after(() => server.stop())
  assert.is((await counted).text, '1')
})

test('one transport has one server at a time', async (t) => {
  const { serve, connect } = memory()
  const first = await startSuiteServer(serve)
  t.after(() => first.stop())
  const error = await startSuiteServer(serve).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof TransportError && error.code === 'LISTEN_FAILED', String(error))
  assert.is(await text(await connected(t, { connect: () => connect }), 'count'), '1')
  await first.stop()
  const second = await startSuiteServer(serve)
  await second.stop()
})

test('memory messages are copies', async (t) => {
  const { serve, connect } = memory()
  const server = await startSuiteServer(serve)
  t.after(() => server.stop())
  const client = await connected(t, { connect: () => connect })
  const args = { text: 'before' }
  const answer = client.callTool('echo', args)
  args.text = 'after'
  assert.is((await answer).text, 'before')
})

test.run()

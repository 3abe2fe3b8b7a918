import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { count, echo, startTestServer } from '../_servers.js'

const test = suite('server sessions')

test('initialize opens a session and answers revision, server and instructions', async (t) => {
  const server = await startTestServer(t, [count])
  const client = new RawClient(t, server.url)
  const { status, headers, messages } = await client.post(initialize())
  assert.is(status, 200)
  assert.match(String(headers['mcp-session-id']), /^[\x21-\x7e]{16,}$/)
  assert.equal(messages, [
    {
      jsonrpc: '2.0',
      id: 'init',
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'test', version: '1.0.0' },
        instructions: 'Be kind.',
      },
    },
  ])
})

test('three sessions count separately', async (t) => {
  const server = await startTestServer(t, [count, echo])
  const clients = await Promise.all(['a', 'b', 'c'].map((name) => new RawClient(t, server.url).open(name)))
  for (const [i, client] of clients.entries()) for (let n = 0; n <= i; n++) await client.text('count')
  assert.equal(await Promise.all(clients.map((client) => client.text('count', { by: 10 }))), [
    '11',
    '12',
    '13',
  ])
  const names = (await server.sessions()).map((session) => session.client.name)
  assert.equal(names.sort(), ['a', 'b', 'c'])
})

test.run()

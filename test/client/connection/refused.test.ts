import * as assert from 'uvu/assert'
import { startClients, withClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { scriptedServer } from 'caduceus/testing'
import { http } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { json, listen, polite } from '../../transports/_http.js'
import { stateless } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('a server that refuses the handshake')

for (const [code, data] of [
  ...[-32600, -32601, -32602, -32700, -32022, -32050, 403, 499, 600].map((code): [number, object] => [
    code,
    { why: 'list' },
  ]),
  ...[-32603, -32000, 503].map((code): [number, object] => [code, { retryable: false }]),
] as const)
  test(`an error ${code} to initialize fails the client at once with its message`, async (t) => {
    const server = scriptedServer({ initialize: new McpError(code, 'not you', { data }) })
    const { client } = watch(t, { transport: server.transport })
    const call = rejection(client.callTool('any'))
    for (const error of [await rejection(client.ready()), await call, await rejection(client.ping())]) {
      assert.equal([error.code, error.retryable], ['CONNECT_FAILED', false])
      assert.match(error.message, `the server refused to initialize: not you (${code})`)
      assert.is((error.data as { sent: boolean }).sent, false)
    }
    assert.is(client.state.phase, 'failed')
    const refusal = client.state.reason?.cause as McpError
    assert.equal([refusal.code, refusal.data], [code, data])
    assert.is(server.connections, 1)
  })

for (const [code, data] of [
  [-32603, undefined],
  [-32000, undefined],
  [-32001, undefined],
  [429, undefined],
  [500, undefined],
  [503, undefined],
  [-32050, { retryable: true }],
] as const)
  test(`an error ${code}${data === undefined ? '' : ' that says so'} to initialize is retried`, async (t) => {
    const refusal = new McpError(code, 'not yet', { data })
    const agreed = (request: { readonly params?: Record<string, unknown> }): object => ({
      protocolVersion: request.params?.protocolVersion,
      capabilities: {},
      serverInfo: { name: 's', version: '1' },
    })
    const server = scriptedServer({ initialize: [refusal, refusal, agreed] })
    const { client, states } = watch(t, { transport: server.transport })
    await client.ping()
    const told = states.all.find(({ phase }) => phase === 'disconnected')?.reason as McpError | undefined
    assert.match(told?.message ?? '', `the server refused to initialize: not yet (${code})`)
    assert.is(told?.retryable, true)
    assert.is(server.connections, 3)
  })

test('withClient rejects at once when the server refuses', async () => {
  const server = scriptedServer({ initialize: new McpError(-32050, 'not you') })
  const error = await rejection(
    withClient({ transport: server.transport, logger: false }, () => assert.unreachable()),
  )
  assert.equal([error.code, error.retryable], ['CONNECT_FAILED', false])
  assert.match(error.message, 'not you (-32050)')
})

test('a required server that refuses lets the start of many reject with its words', async () => {
  const server = scriptedServer({ initialize: new McpError(-32050, 'not you') })
  const error = await rejection(
    startClients({ one: { transport: server.transport } }, { required: ['one'], logger: false }),
  )
  assert.match(error.message, 'not you (-32050)')
})

test('a refused client retries after reconnect(), or by itself with retryFailed', async (t) => {
  const server = scriptedServer({
    initialize: [
      new McpError(-32050, 'not you'),
      new McpError(-32050, 'not you'),
      new McpError(-32050, 'not you'),
      { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } },
    ],
  })
  const { client, phase } = watch(t, { transport: server.transport, retryFailed: 10 })
  await phase('failed')
  client.reconnect().catch(() => {})
  await phase('ready')
  assert.is(server.connections, 4)
})

for (const status of [503, 429])
  test(`status ${status} is an outage, whatever the error code`, async (t) => {
    let refusals = 2
    const answer = polite()
    const { url } = await listen(t, (seen) => {
      const { id, method } = seen.message
      if (method !== 'initialize' || refusals-- <= 0) return answer(seen)
      json(seen, { jsonrpc: '2.0', id, error: { code: -32050, message: 'starting' } }, status)
    })
    const { client } = watch(t, { transport: http(url, { stream: false }) })
    await client.ready()
  })

test('modern only: a refusal fails with its message, and -32603 is retried', async (t) => {
  let refusals: number[] = [-32603, -32603]
  const answer = stateless()
  const { url } = await listen(t, (seen) => {
    const code = seen.message.method === 'server/discover' ? refusals.shift() : undefined
    if (code === undefined) return answer(seen)
    json(seen, { jsonrpc: '2.0', id: seen.message.id, error: { code, message: 'not you' } })
  })
  const patient = watch(t, { transport: http(url), era: 'modern' })
  await patient.client.ready()
  refusals = [-32601]
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  const error = await rejection(client.ready())
  assert.equal([error.code, error.retryable], ['NO_COMMON_REVISION', false])
  assert.match(error.message, 'not you')
})

test.run()

import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { RawClient, type Wire } from '../_client.js'
import { type Answers, able, converse, fill, inTurn } from './_rounds.js'
import { parts } from './_rounds-definition.js'

const test = suite('rounds of calls: one handler for all revisions')

/** Calls a tool in a session, and answers each question as it comes. */
async function callInSession(client: RawClient, name: string, answers: Answers): Promise<Wire> {
  const stream = await client.stream({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })
  for (let round = 1; ; round++) {
    const { id, method, params, result, error } = await stream.next()
    if (method === undefined) return { ...(result && { result }), ...(error && { error }) }
    const [answer] = Object.values(answers({ asked: { method, params: { ...params } } }, round))
    await client.post({ jsonrpc: '2.0', id, result: answer })
  }
}

const declined: Answers = (requests) =>
  Object.fromEntries(Object.keys(requests).map((key) => [key, { action: 'decline' }]))
const wrongAtFirst: Answers = (requests, round) =>
  round > 1
    ? fill(requests, round)
    : Object.fromEntries(Object.keys(requests).map((key) => [key, { action: 'accept', content: {} }]))

test('an asking handler gives the same result with a session and without', async (t) => {
  const server = await startServer(defineServer({ name: 'test', version: '1', ...parts }), {
    transport: serveHttp(),
    logger: false,
  })
  t.after(() => server.stop())
  const client = await new RawClient(t, server.url).open('raw', '2025-11-25', able)
  const send = inTurn([new RawClient(t, server.url)])
  for (const [name, answers] of [
    ['together', fill],
    ['decline', declined],
    ['again', wrongAtFirst],
    ['crash', fill],
  ] as const) {
    const before = await callInSession(client, name, answers)
    const { wire } = await converse(send, 'tools/call', { name }, { answers })
    assert.equal(before.result?.content, wire.result?.content, name)
    assert.is(before.error?.code, wire.error?.code)
    assert.equal(
      [before.result?.isError, wire.result?.isError],
      name === 'crash' ? [true, true] : [undefined, undefined],
    )
  }
  const names = ({ result }: Wire) => JSON.parse(String(result?.content?.[0]?.text)).slice(0, 2)
  const inSession = await callInSession(client, 'three', fill)
  const { wire, rounds } = await converse(send, 'tools/call', { name: 'three' })
  assert.equal(names(inSession), names(wire))
  assert.is(rounds.length, 3)
})

test('a missing capability has the error of each revision, with 400 where it applies', async (t) => {
  const server = await startServer(defineServer({ name: 'test', version: '1', ...parts }), {
    transport: serveHttp(),
    logger: false,
  })
  t.after(() => server.stop())
  const session = await new RawClient(t, server.url).open('raw', '2025-11-25', {})
  const old = await session.call('needs')
  assert.is(old.result?.isError, true)
  const client = new RawClient(t, server.url)
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const { status, messages } = await client.post(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'needs', _meta } },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'needs' },
  )
  assert.is(status, 400)
  assert.equal(
    [messages[0]?.error?.code, messages[0]?.error?.data],
    [-32021, { requiredCapabilities: { elicitation: {} } }],
  )
})

test.run()

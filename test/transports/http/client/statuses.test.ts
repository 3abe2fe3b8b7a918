import * as assert from 'uvu/assert'
import { buildError, errorCodes } from 'caduceus/protocol'
import { TransportError } from 'caduceus/transports'
import type { Services } from '../../../support/ports.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { exchange, raw, startListener } from '../../_listener.js'
import { answering, envelope, headersOf, modern, request } from '../../_modern.js'

const test = suite('http statuses')
const list = request(1, 'tools/list')
const named = request(1, 'tools/call', { name: 'add' })

const wrong: readonly [string, (sent: Sent) => Sent][] = [
  ['415', (sent) => ({ ...sent, headers: { ...sent.headers, 'content-type': 'text/plain' } })],
  ['-32700', (sent) => ({ ...sent, text: '{' })],
  ['-32602', (sent) => ({ ...sent, meta: { ...sent.meta, [capabilitiesKey]: 7 } })],
  ['-32020', (sent) => ({ ...sent, headers: { ...sent.headers, 'mcp-protocol-version': '2025-11-25' } })],
  ['-32022', (sent) => ({ ...sent, meta: { ...sent.meta, [versionKey]: '2099-01-01' } })],
  ['-32020', (sent) => ({ ...sent, headers: { ...sent.headers, 'mcp-name': 'other' } })],
  ['-32601', (sent) => sent],
]
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
const versionKey = 'io.modelcontextprotocol/protocolVersion'

type Sent = {
  readonly headers: Record<string, string | undefined>
  readonly meta: Record<string, unknown>
  readonly text?: string
}

test('of several faults the first of the ladder is reported', async (t) => {
  const { url } = await startListener(t, {
    exchange: async ({ request: { id } }) => ({
      response: buildError(id, { code: errorCodes.methodNotFound, message: 'no' }),
      refused: true,
    }),
  })
  for (let first = 0; first < wrong.length; first++) {
    const start: Sent = { headers: headersOf(named), meta: envelope() }
    const sent = wrong.slice(first).reduceRight((made, [, spoil]) => spoil(made), start)
    // a revision that is named twice is to be the same one, unless that is what is wrong
    const headers = first === 4 ? { ...sent.headers, 'mcp-protocol-version': '2099-01-01' } : sent.headers
    const body = sent.text ?? request(1, 'tools/call', { name: 'add' }, sent.meta)
    const answer = await exchange(t, url, { body, headers })
    const text = await answer.ended
    const told = answer.status === 415 ? '415' : String(JSON.parse(text).error.code)
    assert.is(told, wrong[first]?.[0], `step ${first}: ${text}`)
  }
})

test('the status of a refusal is that of its code, and what a handler answers is 200', async (t) => {
  const cases: readonly [code: number, refused: boolean, status: number][] = [
    [-32601, true, 404],
    [-32601, false, 200],
    [-32020, true, 400],
    [-32020, false, 200],
    [-32022, true, 400],
    [-32021, true, 400],
    [-32021, false, 400],
    [-32602, true, 200],
    [-32602, false, 200],
    [-32603, true, 200],
  ]
  for (const [code, refused, status] of cases) {
    const port: Partial<Services> = {
      exchange: async ({ request: { id } }) => ({
        response: buildError(id, { code, message: 'no' }),
        refused,
      }),
    }
    const { url } = await startListener(t, port)
    const answer = await send(t, url)
    assert.equal(
      [answer.status, answer.body.error.code, answer.body.id],
      [status, code, 1],
      `${code} ${refused}`,
    )
  }
})

test('too many exchanges are a retryable 503, an unforeseen error is a 500', async (t) => {
  const full = await startListener(t, {
    exchange: () => Promise.reject(new TransportError('EXCHANGE_LIMIT', 'too many')),
  })
  const refused = await send(t, full.url)
  assert.equal([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal([refused.body.id, refused.body.error.data], [1, { retryable: true }])
  const broken = await startListener(t, { exchange: () => Promise.reject(new Error('secret')) })
  const failed = await send(t, broken.url)
  assert.equal([failed.status, failed.body.error.message], [500, 'Internal error'])
})

test('a server without such revisions serves handshakes only', async (t) => {
  const { url } = await startListener(t)
  assert.is((await send(t, url)).status, 400)
  const get = await exchange(t, url, { method: 'GET' })
  assert.is(get.status, 200)
  get.cut()
})

test('requests of the same id are independent, on one connection too', async (t) => {
  const { port } = await startListener(t, answering)
  const text = JSON.stringify(list)
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: ${modern}\r\nMcp-Method: tools/list\r\nContent-Length: ${text.length}\r\n`
  const answer = await raw(port, `${head}\r\n${text}${head}Connection: close\r\n\r\n${text}`)
  assert.is(answer.split('HTTP/1.1 200 OK').length, 3)
  assert.is(answer.split('{"jsonrpc":"2.0","id":1,"result":{"method":"tools/list"}}').length, 3)
})

async function send(t: TestContext, url: string) {
  const answer = await exchange(t, url, { body: list, headers: headersOf(list) })
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.ended) }
}

test.run()

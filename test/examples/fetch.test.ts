import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import fetching from './fetch/function.js'
import * as route from './fetch/function.js'
import { handler, server } from './fetch/lambda.js'
import tokens from './fetch/signed-in.js'
import worker from './fetch/worker.js'

const test = suite('programs for hosts with fetch', { timeout: 10_000 })

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const headers = {
  host: 'mcp.example.com',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'greet',
}
const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'greet', arguments: { whom: 'ada' }, _meta },
})

function request(path: string): Request {
  return new Request(`https://mcp.example.com${path}`, { method: 'POST', headers, body })
}

test('a Worker answers', async (t) => {
  t.after(() => worker.close())
  const response = await worker.fetch(request('/mcp'), { KEY: '0123456789abcdef0123456789abcdef' })
  assert.match(await response.text(), 'hello ada')
})

test('a Worker asks for tokens of its issuer', async (t) => {
  t.after(() => tokens.close())
  const env = { KEY: '0123456789abcdef0123456789abcdef', ISSUER: 'https://login.example.com' }
  const refused = await tokens.fetch(request('/mcp'), env)
  assert.is(refused.status, 401)
  const [, found = ''] = /metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? []
  const metadata = await tokens.fetch(new Request(found, { headers: { host: 'mcp.example.com' } }), env)
  assert.equal(((await metadata.json()) as Record<string, unknown>).authorization_servers, [env.ISSUER])
})

test('a function of a host, and a route of a framework, answer', async (t) => {
  t.after(() => fetching.close())
  assert.match(await (await fetching.fetch(request('/api/mcp'))).text(), 'hello ada')
  assert.match(await (await route.POST(request('/api/mcp'))).text(), 'hello ada')
  const stream = new Request('https://mcp.example.com/api/mcp', { headers: { host: 'mcp.example.com' } })
  assert.is((await route.GET(stream)).status, 405)
})

test('a function of AWS Lambda answers events, also with a body in base64', async (t) => {
  t.after(() => server.close())
  const event = {
    rawPath: '/mcp',
    rawQueryString: '',
    headers,
    requestContext: { http: { method: 'POST' } },
  }
  for (const isBase64Encoded of [false, true]) {
    const given = isBase64Encoded ? Buffer.from(body).toString('base64') : body
    const answer = await handler({ ...event, body: given, isBase64Encoded })
    assert.is(answer.statusCode, 200)
    assert.is(answer.headers['content-type'], 'application/json')
    assert.match(answer.body, 'hello ada')
  }
  const got = await handler({ ...event, requestContext: { http: { method: 'GET' } }, isBase64Encoded: false })
  assert.is(got.statusCode, 405)
})

test.run()

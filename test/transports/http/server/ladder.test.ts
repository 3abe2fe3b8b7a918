import * as assert from 'uvu/assert'
import { suite } from '../../../support/suite.js'
import { exchange, startListener } from '../../_listener.js'
import { answering, envelope, headersOf, inRevision, modern, request, without } from '../../_modern.js'

const test = suite('http ladder')
const list = request(1, 'tools/list')
const named = request(1, 'tools/call', { name: 'add' })
const read = request(1, 'resources/read', { uri: 'file:///ž' })

type Row = {
  readonly what: string
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly method?: string
  readonly status: number
  /** The code of the JSON-RPC error, if one is due. */
  readonly code?: number
  readonly id?: number | string
  /** What the data of the error has. */
  readonly data?: unknown
}

const rows: readonly Row[] = [
  { what: 'a good request', status: 200 },
  { what: 'a request that names no accepted type', headers: { accept: undefined }, status: 200 },
  { what: 'a request that accepts JSON only', headers: { accept: 'application/json' }, status: 200 },
  { what: 'a foreign origin', headers: { origin: 'http://evil.example' }, status: 403 },
  { what: 'a foreign host', headers: { host: 'evil.example' }, status: 403 },
  // 1: other methods than POST
  { what: 'GET', method: 'GET', status: 405 },
  { what: 'DELETE', method: 'DELETE', status: 405 },
  { what: 'PUT', method: 'PUT', status: 405 },
  { what: 'GET of a session', method: 'GET', headers: { 'mcp-session-id': 's' }, status: 400 },
  { what: 'DELETE of a session', method: 'DELETE', headers: { 'mcp-session-id': 's' }, status: 400 },
  // 2: type and text
  { what: 'another type', headers: { 'content-type': 'application/jsonx' }, status: 415 },
  { what: 'a charset', headers: { 'content-type': 'application/json; charset=utf-8' }, status: 200 },
  { what: 'what is no JSON', body: '{', status: 400, code: -32700 },
  { what: 'what is no message', body: '{"id":1}', status: 400, code: -32600 },
  // 3: arrays
  { what: 'an empty array', body: '[]', status: 400, code: -32600 },
  { what: 'an array with one request', body: [list], status: 400, code: -32600 },
  {
    what: 'an array in which one of two has an envelope',
    body: [{ jsonrpc: '2.0', id: 1, method: 'ping' }, list],
    headers: { 'mcp-protocol-version': '2025-03-26' },
    status: 400,
    code: -32600,
  },
  // 4: responses
  { what: 'a response', body: { jsonrpc: '2.0', id: 1, result: {} }, status: 400, code: -32600 },
  // 5: a claim, which the body makes
  {
    what: 'an envelope without capabilities',
    body: request(1, 'tools/list', {}, without.capabilities),
    status: 400,
    code: -32602,
    id: 1,
    data: { envelope: { missing: ['io.modelcontextprotocol/clientCapabilities'], malformed: [] } },
  },
  {
    what: 'a revision that is no string',
    body: request('a', 'tools/list', {}, inRevision(7)),
    status: 400,
    code: -32602,
    id: 'a',
    data: { envelope: { missing: [], malformed: ['io.modelcontextprotocol/protocolVersion'] } },
  },
  {
    what: 'a header with another revision',
    headers: { 'mcp-protocol-version': '2025-11-25' },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    what: 'a header with another method',
    headers: { 'mcp-method': 'tools/call' },
    status: 400,
    code: -32020,
  },
  { what: 'a method in capitals', headers: { 'mcp-method': 'Tools/List' }, status: 400, code: -32020 },
  {
    what: 'headers in capitals',
    headers: { 'mcp-method': undefined, 'MCP-METHOD': 'tools/list' },
    status: 200,
  },
  // 6: initialize
  {
    what: 'initialize with a header of a revision that has none',
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
    status: 400,
    code: -32020,
  },
  {
    what: 'initialize with an envelope',
    body: request(1, 'initialize'),
    headers: headersOf(request(1, 'initialize')),
    status: 404,
    code: -32601,
  },
  // 7: a header without a claim
  {
    what: 'a request that is modern by its header alone',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    status: 400,
    code: -32602,
    data: {
      envelope: {
        missing: [
          '_meta',
          'io.modelcontextprotocol/protocolVersion',
          'io.modelcontextprotocol/clientCapabilities',
        ],
        malformed: [],
      },
    },
  },
  // 8: neither
  {
    what: 'a request of a session',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { 'mcp-protocol-version': undefined, 'mcp-method': undefined, 'mcp-session-id': 's' },
    status: 200,
  },
  {
    what: 'a request of no session',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { 'mcp-protocol-version': '2025-11-25' },
    status: 400,
    code: -32600,
  },
  // 9: notifications
  {
    what: 'a notification that is modern by its header',
    body: { jsonrpc: '2.0', method: 'notifications/x' },
    headers: { 'mcp-method': 'notifications/x' },
    status: 202,
  },
  {
    what: 'a notification that is modern by its body',
    body: { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: envelope() } },
    headers: { 'mcp-protocol-version': undefined, 'mcp-method': undefined },
    status: 202,
  },
  {
    what: 'a notification with another method in its header',
    body: { jsonrpc: '2.0', method: 'notifications/x' },
    status: 400,
    code: -32020,
  },
  // 10: what a claim has to go with
  {
    what: 'a revision that nobody knows',
    body: request(1, 'tools/list', {}, inRevision('2099-01-01')),
    headers: { 'mcp-protocol-version': '2099-01-01' },
    status: 400,
    code: -32022,
    id: 1,
    data: { supported: [modern], requested: '2099-01-01' },
  },
  {
    what: 'a revision with a handshake',
    body: request(1, 'tools/list', {}, inRevision('2025-11-25')),
    headers: { 'mcp-protocol-version': '2025-11-25' },
    status: 400,
    code: -32022,
    data: { supported: [modern], requested: '2025-11-25' },
  },
  {
    what: 'no header with a revision',
    headers: { 'mcp-protocol-version': undefined },
    status: 400,
    code: -32020,
  },
  { what: 'no header with a method', headers: { 'mcp-method': undefined }, status: 400, code: -32020, id: 1 },
  {
    what: 'no header with a name',
    body: named,
    headers: { 'mcp-name': undefined },
    status: 400,
    code: -32020,
  },
  { what: 'another name', body: named, headers: { 'mcp-name': 'Add' }, status: 400, code: -32020 },
  { what: 'a name with space around it', body: named, headers: { 'mcp-name': '  add ' }, status: 200 },
  { what: 'a name in base64', body: named, headers: { 'mcp-name': '=?base64?YWRk?=' }, status: 200 },
  {
    what: 'a uri in base64',
    body: read,
    headers: { 'mcp-name': '=?base64?ZmlsZTovLy/Fvg==?=' },
    status: 200,
  },
  {
    what: 'base64 that is none',
    body: named,
    headers: { 'mcp-name': '=?base64?Y?=' },
    status: 400,
    code: -32020,
  },
  {
    what: 'base64 with markers in capitals',
    body: named,
    headers: { 'mcp-name': '=?BASE64?YWRk?=' },
    status: 400,
    code: -32020,
  },
  {
    what: 'a method that is not there',
    body: request(1, 'none/such'),
    headers: headersOf(request(1, 'none/such')),
    status: 404,
    code: -32601,
    id: 1,
  },
  // what belongs to sessions is nothing to it
  { what: 'a session that nobody has', headers: { 'mcp-session-id': 'nobody' }, status: 200 },
  { what: 'an event to go on from', headers: { 'last-event-id': 'x-9' }, status: 200 },
]

for (const { what, status, code, id, data, method, headers, body = list } of rows) {
  test(`${what} is ${status}${code === undefined ? '' : ` with ${code}`}`, async (t) => {
    const { url } = await startListener(t, answering)
    const all = { ...headersOf(asRequest(body)), ...headers }
    const answer = await exchange(t, url, { body, headers: all, ...(method && { method }) })
    const text = await answer.ended
    assert.is(answer.status, status, text)
    assert.is(answer.headers['mcp-session-id'], undefined)
    if (method !== undefined || text === '') return
    const { error, ...rest } = JSON.parse(text)
    if (code !== undefined || status === 200) assert.is(error?.code, code)
    if (id !== undefined) assert.is(rest.id, id)
    if (data !== undefined) assert.equal(error.data, data)
  })
}

/** The headers of a body that is no request are those of the good one. */
function asRequest(body: object | string) {
  return typeof body === 'object' && 'params' in body && 'id' in body ? (body as typeof list) : list
}

test.run()

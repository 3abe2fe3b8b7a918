import type { IncomingMessage } from 'node:http'
import * as assert from 'uvu/assert'
import { createGuard, guardedHeaders, isLoopback } from '../../../../transports/http/listen/guard.js'
import { HttpPeer } from '../../../../transports/http/listen/peer.js'
import { suite } from '../../../support/suite.js'

const test = suite('http guard')
const loopback = createGuard({
  host: '127.0.0.1',
  allowedHosts: [],
  allowedOrigins: ['https://app.example.com'],
})
const named = createGuard({
  host: '0.0.0.0',
  allowedHosts: ['mcp.example.com', 'other.example.com:8443'],
  allowedOrigins: [],
})
const open = createGuard({ host: '0.0.0.0', allowedHosts: ['*'], allowedOrigins: [] })

test('on loopback only local host names are accepted', () => {
  for (const host of ['localhost', 'localhost:3000', 'LOCALHOST:1', '127.0.0.1:3000', '[::1]', '[::1]:3000'])
    assert.is(loopback({ host, origin: undefined }), undefined, host)
  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.',
    'localhost:',
    'localhost:x',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.2',
    '::1',
    'localhost:3000:1',
    'a@localhost',
  ])
    assert.match(loopback({ host, origin: undefined }) ?? '', 'Host', String(host))
})

test('another listened address of this machine is an accepted host', () => {
  const second = createGuard({ host: '127.0.0.2', allowedHosts: [], allowedOrigins: [] })
  for (const host of ['127.0.0.2', '127.0.0.2:3000', 'localhost'])
    assert.is(second({ host, origin: undefined }), undefined, host)
  assert.match(second({ host: '127.0.0.3', origin: undefined }) ?? '', 'Host')
})

test('a host allowed at its default port is accepted without it', () => {
  const allowedHosts = ['a.example:443', 'b.example:80', 'c.example:8443']
  const guard = createGuard({ host: '0.0.0.0', allowedHosts, allowedOrigins: [] })
  for (const host of ['a.example', 'A.example:443', 'b.example', 'b.example:80', 'c.example:8443'])
    assert.is(guard({ host, origin: undefined }), undefined, host)
  for (const host of ['a.example:444', 'c.example', 'c.example:443'])
    assert.match(guard({ host, origin: undefined }) ?? '', 'Host', host)
})

test('an origin is accepted if it is the host or on the list', () => {
  const host = 'localhost:3000'
  for (const origin of [undefined, 'http://localhost:3000', 'https://app.example.com'])
    assert.is(loopback({ host, origin }), undefined, String(origin))
  for (const origin of [
    'null',
    '',
    'http://localhost:3001',
    'http://localhost',
    'http://evil.example',
    'https://app.example.com.evil.example',
    'http://127.0.0.1:3000',
    'file://localhost:3000',
    'http://x@localhost:3000',
    'http://localhost:3000/',
    'http://localhost:3000, http://evil.example',
  ])
    assert.match(loopback({ host, origin }) ?? '', 'Origin', String(origin))
})

test('beyond loopback only named hosts are accepted, at their port if given', () => {
  for (const host of ['mcp.example.com', 'mcp.example.com:444', 'MCP.example.com', 'other.example.com:8443'])
    assert.is(named({ host, origin: undefined }), undefined, host)
  for (const host of [
    'localhost',
    '127.0.0.1',
    'other.example.com',
    'other.example.com:1',
    'x.mcp.example.com',
  ])
    assert.match(named({ host, origin: undefined }) ?? '', 'Host', host)
  assert.is(named({ host: 'mcp.example.com', origin: 'https://mcp.example.com' }), undefined)
  assert.is(named({ host: 'mcp.example.com:80', origin: 'http://mcp.example.com' }), undefined)
  assert.match(named({ host: 'mcp.example.com', origin: 'https://mcp.example.com:444' }) ?? '', 'Origin')
})

test('a star accepts every host, but no foreign origin', () => {
  assert.is(open({ host: 'anything:1', origin: undefined }), undefined)
  assert.match(open({ host: 'anything:1', origin: 'http://evil.example' }) ?? '', 'Origin')
})

test('a star for origins accepts every web origin, but not null', () => {
  const guard = createGuard({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: ['*'] })
  assert.is(guard({ host: 'localhost', origin: 'http://evil.example' }), undefined)
  assert.match(guard({ host: 'localhost', origin: 'null' }) ?? '', 'Origin')
  const named = createGuard({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: ['null'] })
  assert.is(named({ host: 'localhost', origin: 'null' }), undefined)
})

test('an accepted host does not admit another', () => {
  const guard = createGuard({ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] })
  for (const [host, passes] of [
    ['localhost:1', true],
    ['localhost:1', true],
    ['evil.example', false],
    ['localhost:1', true],
    ['localhost.', false],
    ['evil.example', false],
  ] as const)
    assert.is(guard({ host, origin: undefined }) === undefined, passes, host)
})

test('names are compared without regard to case', () => {
  const guard = createGuard({ host: '0.0.0.0', allowedHosts: ['MCP.Example.com'], allowedOrigins: [] })
  assert.is(guard({ host: 'mcp.example.COM:1', origin: undefined }), undefined)
})

test('several Host or Origin headers are refused', () => {
  const see = (...rawHeaders: string[]) => {
    const headers: Record<string, string> = {}
    for (let i = rawHeaders.length - 2; i >= 0; i -= 2)
      headers[String(rawHeaders[i]).toLowerCase()] = String(rawHeaders[i + 1])
    return guardedHeaders({ rawHeaders, headers } as unknown as IncomingMessage)
  }
  assert.equal(see('Host', 'a', 'X', 'b'), { host: 'a', origin: undefined })
  assert.equal(see('Host', 'a', 'hOST', 'a').host, undefined)
  assert.equal(see('Host', 'a', 'Origin', 'http://a', 'origin', 'http://b').host, undefined)
  assert.equal(see('X', 'a').host, undefined)
})

test('behind proxies the address comes from the outermost trusted one, the host never', () => {
  const rawHeaders = ['Host', '10.0.0.1']
  const request = {
    rawHeaders,
    headers: {
      host: '10.0.0.1',
      'x-forwarded-host': 'mcp.example.com',
      'x-forwarded-for': '9.9.9.9, 1.2.3.4',
    },
    socket: { remoteAddress: '127.0.0.1' },
  } as unknown as IncomingMessage
  assert.is(guardedHeaders(request).host, '10.0.0.1')
  assert.equal(
    [0, 1, 2, 3].map((proxies) => new HttpPeer(request, proxies).remoteAddress),
    ['127.0.0.1', '1.2.3.4', '9.9.9.9', '9.9.9.9'],
  )
})

test('a proxy may name the port of a client, too; what is no address is not believed', () => {
  for (const [said, address] of [
    ['8.8.8.8:50123', '8.8.8.8'],
    ['[2001:db8::1]:50123', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['unknown', '127.0.0.1'],
    ['_hidden:1', '127.0.0.1'],
    ['8.8.8.8:50123:1', '127.0.0.1'],
    ['', '127.0.0.1'],
  ] as const) {
    const headers = { 'x-forwarded-for': said }
    const request = { headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage
    assert.is(new HttpPeer(request, 1).remoteAddress, address, said)
  }
})

test('a refusal names the host safely', () => {
  const host = 'mcp.example.com'
  assert.is(
    named({ host: 'evil.example', origin: undefined }),
    'Host: "evil.example" is not a name of this server: allowedHosts says which are',
  )
  assert.is(
    named({ host, origin: 'https://evil.example' }),
    'Origin: "https://evil.example" is not allowed at "mcp.example.com": allowedOrigins says which are',
  )
  for (const origin of [undefined, '\x1b[2J\x9b31m\u202e"\n', 'x'.repeat(10_000)])
    for (const given of ['\x1b]0;x\x07\x9d', 'x'.repeat(10_000), host]) {
      const problem = named({ host: given, origin }) ?? ''
      assert.match(problem, /^[\x20-\x7e]{0,300}$/)
    }
  assert.match(named({ host: undefined, origin: undefined }) ?? '', /^Host: expected one/)
})

test('loopback addresses are recognised', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1']) assert.ok(isLoopback(host), host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.evil.example'])
    assert.not.ok(isLoopback(host), host)
})

test.run()

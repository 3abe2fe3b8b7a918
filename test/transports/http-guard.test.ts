import * as assert from 'uvu/assert'
import { createGuard, isLoopback } from '../../transports/http-guard.js'
import { suite } from '../support/suite.js'

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

test('on loopback only the names of this machine are hosts', () => {
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

test('an origin is let in if it is the host itself or named', () => {
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

test('beyond loopback the named hosts are let in, at the named port where there is one', () => {
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

test('a star lets every host in, but no foreign origin', () => {
  assert.is(open({ host: 'anything:1', origin: undefined }), undefined)
  assert.match(open({ host: 'anything:1', origin: 'http://evil.example' }) ?? '', 'Origin')
})

test('loopback is what only this machine can reach', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1']) assert.ok(isLoopback(host), host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '127.evil.example'])
    assert.not.ok(isLoopback(host), host)
})

test.run()

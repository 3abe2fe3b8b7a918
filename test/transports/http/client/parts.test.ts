import * as assert from 'uvu/assert'
import { readRetryAfter } from '../../../../transports/base/retry-after.js'
import { endingError, judge } from '../../../../transports/http/client/errors.js'
import { eventIdHeader } from '../../../../transports/http/client/event-stream.js'
import { AnswerPace, StreamPace } from '../../../../transports/http/client/pace.js'
import { joinPaths } from '../../../../transports/http/client/sse.js'
import { suite } from '../../../support/suite.js'

const test = suite('parts of the http client')

test('quiet streams that are cut now and then are followed without end', () => {
  const pace = new AnswerPace({ now: () => 0 }, () => 0)
  for (let i = 0; i < 100; i++)
    assert.is(pace.delayAfter({ accepted: true, good: true, orderly: false }), 125)
})

test('the time of a cut counts from the cut, and begins anew after every stream', () => {
  let now = 0
  const resumption = new AnswerPace({ now: () => now }, () => 0)
  const tries = (): number => {
    assert.is(resumption.delayAfter({ accepted: true, good: true, orderly: false }), 125)
    for (let count = 1; ; count++) {
      const delay = resumption.delayAfter({ accepted: false, good: false, orderly: false })
      if (delay === undefined) return count
      now += delay
    }
  }
  assert.is(tries(), tries())
  resumption.asked(30_000)
  assert.is(resumption.delayAfter({ accepted: true, good: true, orderly: false }), 30_125)
  now += 30_125
  assert.is(resumption.delayAfter({ accepted: false, good: false, orderly: false }), undefined)
})

test('an unreachable host may have taken a request only once it was connected', () => {
  const failure = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall })
  for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET']) {
    assert.is(judge(failure(code, 'read')), 'broken')
    assert.is(judge(failure(code, 'write')), 'broken')
    assert.is(judge(failure(code, 'connect')), 'unreachable')
  }
  assert.is(judge(failure('ENOTFOUND', 'getaddrinfo')), 'unreachable')
  assert.is(judge(failure('UND_ERR_CONNECT_TIMEOUT')), 'unreachable')
  assert.is(judge(failure('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')), 'unreachable')
  assert.is(judge(failure('ERR_SSL_WRONG_VERSION_NUMBER')), 'untrusted')
})

test('an empty id takes back the one before: there is nothing to go on from', () => {
  assert.is(eventIdHeader(''), undefined)
})

test('401 to a given token is reported in the words of the server, if plain', () => {
  const settings = { url: new URL('http://localhost/mcp'), auth: undefined, headers: { authorization: 'x' } }
  for (const [why, said] of [
    ['error="invalid_token", error_description="The token expired"', ': The token expired'],
    ['error_description="\u001b[31mred"', ''],
    ['error="invalid_token"', ''],
  ] as const) {
    const headers = { 'www-authenticate': `Bearer ${why}` }
    const refusal = { status: 401, headers, origin: settings.url.origin }
    const { message } = endingError('unauthorized', settings, refusal)
    assert.is(message, `the server refuses the token of the option auth (401)${said}`)
  }
})

test('streams reopen as the server asks, with jitter after a break, ever later', () => {
  const reconnect = new StreamPace(() => 0.5)
  assert.is(reconnect.delayAfter({ good: true, orderly: true }), 750)
  reconnect.asked(3_000)
  assert.is(reconnect.delayAfter({ good: true, orderly: true }), 3_000)
  assert.is(reconnect.delayAfter({ good: true, orderly: false }), 3_750)
  const failing = Array.from({ length: 7 }, () => reconnect.delayAfter({ good: false, orderly: true }))
  assert.equal(failing, [3_000, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500])
  assert.is(reconnect.failures, 7)
  assert.is(reconnect.delayAfter({ good: true, orderly: true }), 3_000)
  assert.is(reconnect.failures, 0)
})

test('no server can make a client spin, nor send it away for good', () => {
  const reconnect = new StreamPace(() => 0)
  reconnect.asked(0)
  assert.is(reconnect.delayAfter({ good: true, orderly: true }), 100)
  assert.ok(reconnect.delayAfter({ good: false, orderly: true }) >= 1_000)
  reconnect.asked(Number.MAX_SAFE_INTEGER)
  assert.is(reconnect.delayAfter({ good: true, orderly: true }), 3_600_000)
})

for (const [base, basePath, ssePath, expected] of [
  ['https://example.com', '/', '/sse', 'https://example.com/sse'],
  ['https://example.com', '/mcp', '/sse', 'https://example.com/mcp/sse'],
  ['https://example.com/', 'mcp', 'sse', 'https://example.com/mcp/sse'],
  ['https://example.com/', '/mcp/', '/sse', 'https://example.com/mcp/sse'],
  ['https://example.com/api', '/mcp', '/sse', 'https://example.com/api/mcp/sse'],
  ['https://example.com/api/', 'mcp//', '//sse', 'https://example.com/api/mcp/sse'],
  ['https://example.com:8443', '/', '/events/', 'https://example.com:8443/events/'],
  ['https://example.com', '/mcp', '/', 'https://example.com/mcp/'],
  ['https://example.com', '/mcp', '/sse?key=1', 'https://example.com/mcp/sse?key=1'],
  ['https://example.com', '//evil.example', '/sse', 'https://example.com/evil.example/sse'],
] as const) {
  test(`${base} + ${basePath} + ${ssePath} is ${expected}`, () => {
    assert.is(joinPaths(new URL(base), basePath, ssePath).href, expected)
  })
}

test('Retry-After may be a date', () => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  assert.is(readRetryAfter('Sat, 21 Nov 2026 10:02:00 GMT', now), 120_000)
  assert.is(readRetryAfter('Sat, 21 Nov 2026 09:00:00 GMT', now), 0)
  for (const other of ['soon', '', '9999999999999999999999', undefined, ['1', '2']])
    assert.is(readRetryAfter(other, now), undefined)
})

test.run()

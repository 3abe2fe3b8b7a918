import * as assert from 'uvu/assert'
import {
  type Batch,
  decode,
  eraOfHttp,
  type Message,
  metaKeys,
  pin,
  type Pinned,
  type Pinning,
} from 'caduceus/protocol'
import { suite } from '../support/suite.js'
import { envelope, modern, notification, plain, read } from './_modern.js'

const test = suite('protocol/pin')
const { protocolVersion, clientCapabilities } = metaKeys
const probe = modern('server/discover')
const call = modern('tools/call', { name: 't' })
const initialize = plain('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
const broken = { [clientCapabilities]: undefined }
const unknown = { [protocolVersion]: '2099-01-01' }
const answer: Message = { jsonrpc: '2.0', id: 1, result: {} }
const batch = (...messages: unknown[]) => decode(JSON.stringify(messages))

/** Before, what came, where it goes, what holds afterwards, and the code of the error. */
const steps: readonly [Pinned, string, Message | Batch, Pinning['route'], Pinned, number?][] = [
  ['none', 'a probe', probe, 'modern', 'none'],
  ['none', 'a probe without capabilities', modern('server/discover', {}, broken), 'refuse', 'none', -32602],
  ['none', 'a probe of the future', modern('server/discover', {}, unknown), 'refuse', 'none', -32022],
  ['none', 'a probe without an envelope', plain('server/discover'), 'handshake', 'handshake'],
  ['none', 'a request with an envelope', call, 'modern', 'modern'],
  ['none', 'a method that nobody knows, with an envelope', modern('tools/invent'), 'modern', 'modern'],
  ['none', 'initialize with a whole envelope', modern('initialize'), 'modern', 'modern'],
  ['none', 'a broken envelope', modern('tools/call', {}, broken), 'refuse', 'none', -32602],
  ['none', 'an envelope of the future', modern('tools/call', {}, unknown), 'refuse', 'none', -32022],
  ['none', 'initialize', initialize, 'handshake', 'handshake'],
  ['none', 'initialize with a broken envelope', modern('initialize', {}, broken), 'handshake', 'handshake'],
  ['none', 'a request without an envelope', plain('tools/list'), 'handshake', 'handshake'],
  ['none', 'a ping', plain('ping'), 'handshake', 'handshake'],
  ['none', 'a notification', notification('notifications/initialized'), 'handshake', 'handshake'],
  ['none', 'the end of a probe', notification('notifications/cancelled', { requestId: 1 }), 'modern', 'none'],
  [
    'none',
    'a notification with an envelope',
    notification('n', { _meta: { ...envelope } }),
    'modern',
    'none',
  ],
  ['none', 'an answer', answer, 'refuse', 'none'],
  ['none', 'a batch', batch(plain('ping')), 'handshake', 'handshake'],
  ['none', 'a batch with an envelope in it', batch(plain('ping'), call), 'refuse', 'none', -32600],

  ['modern', 'a probe', probe, 'modern', 'modern'],
  ['modern', 'a request with an envelope', call, 'modern', 'modern'],
  ['modern', 'initialize with a whole envelope', modern('initialize'), 'modern', 'modern'],
  ['modern', 'initialize', initialize, 'refuse', 'modern', -32022],
  [
    'modern',
    'initialize with a broken envelope',
    modern('initialize', {}, broken),
    'refuse',
    'modern',
    -32022,
  ],
  ['modern', 'a request without an envelope', plain('tools/list'), 'refuse', 'modern', -32602],
  ['modern', 'a broken envelope', modern('tools/call', {}, broken), 'refuse', 'modern', -32602],
  ['modern', 'an envelope of the future', modern('tools/call', {}, unknown), 'refuse', 'modern', -32022],
  ['modern', 'a notification', notification('notifications/cancelled', { requestId: 1 }), 'modern', 'modern'],
  ['modern', 'an answer', answer, 'refuse', 'modern'],
  ['modern', 'a batch', batch(plain('ping')), 'refuse', 'modern', -32600],

  ['handshake', 'a probe', probe, 'handshake', 'handshake'],
  ['handshake', 'a request with an envelope', call, 'handshake', 'handshake'],
  ['handshake', 'initialize', initialize, 'handshake', 'handshake'],
  ['handshake', 'a notification', notification('notifications/cancelled'), 'handshake', 'handshake'],
  ['handshake', 'an answer', answer, 'handshake', 'handshake'],
  ['handshake', 'a batch', batch(plain('ping'), call), 'handshake', 'handshake'],
]

for (const [before, what, message, route, after, code] of steps) {
  const end =
    route === 'refuse' ? `refused${code === undefined ? '' : ` with ${code}`}` : `for the ${route} era`
  test(`pinned to ${before}: ${what} is ${end}, then ${after}`, () => {
    const pinning = pin(before, message)
    assert.is(pinning.route, route)
    assert.is(pinning.pinned, after)
    if (pinning.route === 'refuse') assert.is(pinning.error?.code, code)
    const isRequest = 'id' in message && 'method' in message
    if (pinning.route === 'modern') assert.is(pinning.envelope !== undefined, isRequest)
  })
}

test('a route carries the envelope of its request', () => {
  assert.equal(pin('none', call), { pinned: 'modern', route: 'modern', envelope: read })
  assert.equal(pin('modern', call), { pinned: 'modern', route: 'modern', envelope: read })
})

test('a probe with initialize behind it: both are served, the session wins (trap 18)', () => {
  const [first, second, third] = routes(probe, initialize, notification('notifications/initialized'))
  assert.equal([first?.route, second?.route, third?.route], ['modern', 'handshake', 'handshake'])
  assert.is(third?.pinned, 'handshake')
})

test('a client that probes several times, cancels one and goes modern is served', () => {
  const all = routes(probe, notification('notifications/cancelled', { requestId: 1 }), probe, call, probe)
  assert.equal(
    all.map(({ route }) => route),
    ['modern', 'modern', 'modern', 'modern', 'modern'],
  )
  assert.is(all.at(-1)?.pinned, 'modern')
})

test('a refused revision does not fix the era: another one or initialize may follow', () => {
  const future = modern('tools/call', {}, unknown)
  assert.is(routes(future, call).at(-1)?.pinned, 'modern')
  assert.is(routes(future, initialize).at(-1)?.pinned, 'handshake')
})

test('initialize after the modern era is refused and told the known revisions', () => {
  const pinning = pin('modern', initialize)
  assert.equal(pinning.route === 'refuse' && pinning.error?.data, {
    supported: ['2026-07-28'],
    requested: '2025-11-25',
  })
  const bare = pin('modern', plain('initialize'))
  assert.equal(bare.route === 'refuse' && bare.error?.data, { supported: ['2026-07-28'] })
})

test('a pinned connection is never pinned to the other era', () => {
  for (const [before, , message] of steps) {
    if (before !== 'none') assert.is(pin(before, message).pinned, before)
  }
})

test('HTTP and pipes find the same era in every request', () => {
  for (const [, what, message] of steps) {
    if (Array.isArray(message) || !('id' in message && 'method' in message)) continue
    const onPipe = pin('none', message)
    const byHttp = eraOrRefusal(message)
    const isUnknown = onPipe.route === 'refuse' && onPipe.error?.code === -32022
    // over HTTP whether the revision is supported is asked after the headers were compared
    assert.is(isUnknown ? 'modern' : onPipe.route, byHttp, what)
  }
})

function eraOrRefusal(message: Message): Pinning['route'] {
  try {
    return eraOfHttp(message, {}).era
  } catch {
    return 'refuse'
  }
}

function routes(...messages: readonly Message[]): readonly Pinning[] {
  let pinned: Pinned = 'none'
  return messages.map((message) => {
    const pinning = pin(pinned, message)
    pinned = pinning.pinned
    return pinning
  })
}

test.run()

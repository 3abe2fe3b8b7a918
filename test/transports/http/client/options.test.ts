import * as assert from 'uvu/assert'
import { http, type HttpOptions, TransportError } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'

const test = suite('http client options')

for (const [field, url, options] of [
  ['url', 'localhost:3000', {}],
  ['url', 'ftp://host/', {}],
  ['url', 7, {}],
  ['url', 'http://me:secret@host/', {}],
  ['options', 'http://host/', null],
  ['headers', 'http://host/', { headers: ['a'] }],
  ['headers', 'http://host/', { headers: { 'a b': 'c' } }],
  ['headers.x', 'http://host/', { headers: { x: 'a\nb' } }],
  ['headers.Accept', 'http://host/', { headers: { Accept: '*/*' } }],
  ['limits.connections', 'http://host/', { limits: { connections: 0 } }],
  ['limits.messageBytes', 'http://host/', { limits: { messageBytes: '1' } }],
  ['connectTimeout', 'http://host/', { connectTimeout: 0 }],
  ['stream', 'http://host/', { stream: 'yes' }],
  ['streamIdleTimeout', 'http://host/', { streamIdleTimeout: -1 }],
  ['timeout', 'http://host/', { timeout: 1 }],
  ['limits.streams', 'http://host/', { limits: { streams: 0 } }],
  ['headersTimeout', 'http://host/', { headersTimeout: 0 }],
  ['idleTimeout', 'http://host/', { idleTimeout: 'never' }],
  ['tls', 'http://host/', { tls: true }],
  ['tls.ca', 'http://host/', { tls: { ca: 1 } }],
  ['tls.key', 'http://host/', { tls: { key: '' } }],
  ['tls.passphrase', 'http://host/', { tls: { passphrase: 1 } }],
  ['tls.rejectUnauthorized', 'http://host/', { tls: { rejectUnauthorized: 'no' } }],
  ['tls.verify', 'http://host/', { tls: { verify: true } }],
  ['proxy', 'http://host/', { proxy: 'socks5://me:secret@proxy' }],
  ['proxy', 'http://host/', { proxy: 'proxy:secret' }],
  ['maxRedirects', 'http://host/', { maxRedirects: -1 }],
] as const) {
  test(`a wrong option is refused: ${field} of ${JSON.stringify([url, options])}`, () => {
    const error = thrownBy(() => http(url as string, options as unknown as HttpOptions))
    assert.is(error.code, 'BAD_OPTION')
    assert.equal(error.data, { field })
    assert.not.match(error.message, 'secret')
  })
}

function thrownBy(fn: () => unknown): TransportError {
  try {
    fn()
  } catch (error) {
    if (error instanceof TransportError) return error
  }
  throw new Error('expected a TransportError')
}

test.run()

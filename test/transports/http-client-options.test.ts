import * as assert from 'uvu/assert'
import { TransportError } from '../../transports/errors.js'
import { http } from '../../transports/http-client.js'
import type { HttpOptions } from '../../transports/http-client-options.js'
import { suite } from '../support/suite.js'

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
  ['connections', 'http://host/', { connections: 0 }],
  ['maxMessageBytes', 'http://host/', { maxMessageBytes: '1' }],
  ['connectTimeout', 'http://host/', { connectTimeout: 0 }],
  ['stream', 'http://host/', { stream: 'yes' }],
  ['streamIdleTimeout', 'http://host/', { streamIdleTimeout: -1 }],
  ['timeout', 'http://host/', { timeout: 1 }],
] as const) {
  test(`a wrong option is refused at once: ${field} of ${JSON.stringify([url, options])}`, () => {
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

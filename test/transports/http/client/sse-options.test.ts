import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { serveSse, sse, type SsePlace, TransportError } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { listen as listenRaw, status, stream } from '../../_http.js'
import { startLink } from '../../_link.js'
import { startSuiteServer } from '../../_suite-server.js'

const test = suite('sse client options')

for (const [field, place] of [
  ['baseUrl', {}],
  ['baseUrl', { baseUrl: 'example.com' }],
  ['baseUrl', { baseUrl: 'ws://example.com' }],
  ['baseUrl', { baseUrl: 'http://example.com?a=1' }],
  ['basePath', { baseUrl: 'http://example.com', basePath: 'http://evil.example' }],
  ['ssePath', { baseUrl: 'http://example.com', ssePath: '' }],
  ['ssePath', { baseUrl: 'http://example.com', ssePath: '/sse#a' }],
  ['ssepath', { baseUrl: 'http://example.com', ssepath: '/sse' }],
  ['headers.Host', { baseUrl: 'http://example.com', headers: { Host: 'x' } }],
] as const) {
  test(`a wrong option is refused at once: ${field} of ${JSON.stringify(place)}`, () => {
    try {
      sse(place as SsePlace)
    } catch (error) {
      assert.ok(error instanceof TransportError && error.code === 'BAD_OPTION', String(error))
      return assert.equal(error.data, { field })
    }
    assert.unreachable()
  })
}

test('a server is found by its base address, at /sse unless another path is given', async (t) => {
  for (const [path, place] of [
    ['/sse', {}],
    ['/deep/events', { basePath: 'deep', ssePath: 'events' }],
  ] as const) {
    const server = await startSuiteServer(serveSse({ path }))
    t.after(() => server.stop())
    const transport = sse({ baseUrl: new URL('/', server.url), ...place })
    const client = startClient({ transport, logger: false })
    t.after(() => client.close())
    assert.is((await client.callTool('echo', { text: path })).text, path)
  }
})

test('a redirect to another origin is a failure, and nothing is sent there', async (t) => {
  let asked = 0
  const other = await listenRaw(t, (seen) => {
    asked += 1
    stream(seen)
  })
  const server = await listenRaw(t, (seen) => status(seen, 307, { location: other.url }))
  const link = await startLink(t, sse(server.url, { headers: { authorization: 'Bearer x' } }))
  link.open(1)
  const { error } = await link.closed()
  assert.match(String(error?.message), 'to another origin')
  assert.is(asked, 0)
})

test.run()

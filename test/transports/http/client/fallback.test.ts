// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http, serveSse } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { listen, status } from '../../_http.js'
import { startSuiteServer } from '../../_suite-server.js'

const test = suite('http, and what came before it', { timeout: 15_000 })

for (const era of ['auto', 'handshake'] as const) {
  test(`a server with HTTP+SSE only is reached at its stream address (era ${era})`, async (t) => {
    const server = await startSuiteServer(serveSse())
    t.after(() => server.stop())
    const client = startClient({ transport: http(server.url ?? ''), era, logger: false })
    t.after(() => client.close())
    assert.is((await client.callTool('count')).text, '1')
    assert.is((await client.callTool('count')).text, '2')
    assert.ok(client.server?.revision.startsWith('202'))
  })
}

for (const code of [400, 404, 405]) {
  test(`a server without an event stream fails with its first refusal (${code})`, async (t) => {
    const { url, seen } = await listen(t, (one) => status(one, one.method === 'GET' ? 500 : code))
    const slow = { base: 60_000, cap: 60_000, random: () => 1 }
    const client = startClient({ transport: http(url), backoff: slow, logger: false })
    t.after(() => client.close())
    const error = await client.ready({ timeout: 1_000 }).catch((thrown: Error) => thrown)
    assert.match(String(error), String(code))
    assert.equal(
      seen.all.map(({ method }) => method),
      ['POST', 'GET'],
    )
  })
}

test('other failures do not fall back to HTTP+SSE, nor does a client that forbids it', async (t) => {
  const { url, seen } = await listen(t, (one) =>
    status(one, one.headers.authorization === undefined ? 500 : 404),
  )
  for (const transport of [http(url), http(url, { sseFallback: false, headers: { authorization: 'x' } })]) {
    const slow = { base: 60_000, cap: 60_000, random: () => 1 }
    const client = startClient({ transport, backoff: slow, logger: false })
    await client.ready({ timeout: 500 }).catch(() => {})
    await client.close()
  }
  assert.not.ok(seen.all.some(({ method }) => method === 'GET'))
})

test.run()

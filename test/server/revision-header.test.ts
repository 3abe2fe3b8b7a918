import * as assert from 'uvu/assert'
import { allHandshakeDialects } from 'caduceus/protocol'
import { defineTool } from 'caduceus/server'
import { suite } from '../support/suite.js'
import { initialize, RawClient } from './_client.js'
import { count, startTestServer } from './_servers.js'

const test = suite('server revision header')
const revisions = allHandshakeDialects.map(({ revision }) => revision)
const header = (revision: string) => ({ 'mcp-protocol-version': revision })
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'count' } }

for (const revision of revisions)
  for (const other of revisions.filter((one) => one !== revision && one !== '2025-03-26'))
    test(`${other} in a session of ${revision} is refused with 400 and changes nothing`, async (t) => {
      const server = await startTestServer(t, [count])
      const client = await new RawClient(t, server.url).open('raw', revision)
      for (const message of [
        call,
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', id: 1, result: {} },
      ]) {
        const { status, messages } = await client.post(message, header(other))
        assert.equal([status, messages[0]?.error?.code], [400, -32600])
        assert.match(String(messages[0]?.error?.message), `expected ${revision}`)
      }
      assert.is((await client.listen(header(other))).status, 400)
      assert.is(
        (await client.send('DELETE', undefined, { ...client.headers(), ...header(other) })).status,
        400,
      )
      assert.is(await client.text('count'), '1')
    })

test('header 2025-03-26 counts as absent in every session', async (t) => {
  const server = await startTestServer(t, [count])
  for (const revision of revisions) {
    const client = await new RawClient(t, server.url).open('raw', revision)
    assert.is((await client.post(call, header('2025-03-26'))).status, 200)
    const stream = await client.listen(header('2025-03-26'))
    assert.is(stream.status, 200)
    stream.close()
    assert.is((await client.post({ ...call, id: 2 }, header(revision))).status, 200)
  }
})

test('a batch with another revision than its session is refused, even an invalid one', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open('raw', '2025-03-26')
  for (const batch of [[call], [{ jsonrpc: '2.0' }]]) {
    assert.is((await client.send('POST', JSON.stringify(batch), client.headers())).status, 200)
    const refused = await client.send('POST', JSON.stringify(batch), {
      ...client.headers(),
      ...header('2025-06-18'),
    })
    assert.is(refused.status, 400)
    assert.match(refused.body, /MCP-Protocol-Version/)
  }
  assert.is(await client.text('count'), '2')
})

test('the revision header is checked against a restored session, too', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open('raw', '2025-06-18')
  const remove = (revision: string) =>
    client.send('DELETE', undefined, { ...client.headers(), ...header(revision) })
  for (const { ref } of await server.sessions()) ref?.kill()
  assert.is((await remove('2025-11-25')).status, 400)
  assert.is((await remove('2025-06-18')).status, 204)
  assert.is((await client.post(call)).status, 404)
})

test('the revision header of initialize is ignored', async (t) => {
  const server = await startTestServer(t, [count])
  const client = new RawClient(t, server.url)
  const { status } = await client.post(initialize('raw', '2024-11-05'), header('2025-11-25'))
  assert.is(status, 200)
})

test('the priming event of a stream depends on the session, not on the header', async (t) => {
  const release = defineTool({ name: 'release', run: (_args, ctx) => String(ctx.releaseStream()) })
  const server = await startTestServer(t, [release])
  const primes = async (revision: string): Promise<boolean> => {
    const client = await new RawClient(t, server.url).open('raw', revision)
    const params = { name: 'release' }
    const { body } = await client.send('POST', JSON.stringify({ ...call, params }), withoutRevision(client))
    return /^data: ?$/m.test(body)
  }
  for (const revision of revisions) assert.is(await primes(revision), revision === '2025-11-25', revision)
})

function withoutRevision(client: RawClient): Record<string, string> {
  const { 'mcp-protocol-version': _, ...headers } = client.headers()
  return headers
}

test.run()

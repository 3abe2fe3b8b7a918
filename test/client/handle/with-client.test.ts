import * as assert from 'uvu/assert'
import { withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { json, listen, polite, result } from '../../transports/_http.js'
import { rejection } from '../_raw.js'

const test = suite('a client for one task')

for (const status of [400, 403, 404, 405, 410])
  test(`withClient rejects at once when initialize gets ${status}`, async (t) => {
    const server = await listen(t, ({ response }) => void response.writeHead(status).end('no'))
    const transport = http(server.url, { sseFallback: false })
    const error = await rejection(withClient({ transport, logger: false }, () => assert.unreachable()))
    assert.is(error.code, 'CONNECT_FAILED')
    assert.match(error.message, `answered with status ${status}`)
    const { sent, status: told } = error.data as Record<string, unknown>
    assert.equal([sent, told], [false, status])
  })

for (const status of [408, 425, 429, 500, 503])
  test(`withClient retries when initialize gets ${status} at first`, async (t) => {
    let refusals = 0
    const answer = polite((seen) => json(seen, result(seen, {})))
    const server = await listen(t, (seen) => {
      if (seen.message.method !== 'initialize' || refusals === 2) return answer(seen)
      refusals += 1
      seen.response.writeHead(status).end()
    })
    const options = { transport: http(server.url), backoff: { base: 1, cap: 1 }, logger: false as const }
    assert.equal(await withClient(options, (client) => client.ping()), undefined)
    assert.is(refusals, 2)
  })

test('withClient gives up at the third 500 in a row', async (t) => {
  let asked = 0
  const statuses = [500, 500, 503, 500, 500, 500]
  const server = await listen(t, ({ response }) => void response.writeHead(statuses[asked++] ?? 418).end())
  const options = { transport: http(server.url), backoff: { base: 1, cap: 1 }, logger: false as const }
  const error = await rejection(withClient(options, () => assert.unreachable()))
  assert.match(error.message, 'answered with status 500')
  assert.equal([error.code, asked], ['CONNECT_FAILED', 6])
})

test.run()

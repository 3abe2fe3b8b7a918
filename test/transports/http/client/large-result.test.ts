// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { json, listen, polite, result } from '../../_http.js'

const test = suite('http client limits', { timeout: 15_000 })

test('a result of 100 MB arrives where the limit allows it', async (t) => {
  const server = await listen(
    t,
    polite((seen) =>
      json(seen, result(seen, { content: [{ type: 'text', text: 'x'.repeat(100 * 1024 * 1024) }] })),
    ),
  )
  const options = { limits: { messageBytes: 128 * 1024 * 1024 }, stream: false }
  const client = startClient({ transport: http(server.url, options), logger: false })
  t.after(() => client.close())
  assert.is((await client.callTool('big')).text.length, 100 * 1024 * 1024)
})

test.run()
